//! Real processes under faults, compared with real etcd and with an acknowledgement recorder.
