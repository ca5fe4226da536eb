//! Every RPC by its path, and what kind of RPC it is.

use super::status::{Code, Status};
use crate::metrics::{CallKind, MethodMetrics, Metrics};

macro_rules! methods {
    ($($service:literal { $($variant:ident $name:literal $kind:ident),+ $(,)? })+) => {
        /// An RPC.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Method {
            $($(
                #[doc = concat!("`/", $service, "/", $name, "`")]
                $variant,
            )+)+
        }

        impl Method {
            /// All of them, in the order of the contract.
            pub const ALL: &[Method] = &[$($(Method::$variant,)+)+];

            /// The path of a request.
            pub fn path(self) -> &'static str {
                match self { $($(Method::$variant => concat!("/", $service, "/", $name),)+)+ }
            }

            /// How its calls run.
            pub fn kind(self) -> Kind {
                match self { $($(Method::$variant => Kind::$kind,)+)+ }
            }

            /// The method of a path.
            fn find(path: &str) -> Option<Method> {
                match path {
                    $($(concat!("/", $service, "/", $name) => Some(Method::$variant),)+)+
                    _ => None,
                }
            }
        }

        fn is_service(name: &str) -> bool {
            matches!(name, $($service)|+)
        }
    };
}

/// How calls of a method run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One request, one answer of the member: held by the connection's task.
    Unary,
    /// One request, several steps: a task of its own.
    Program,
    /// A stream of answers, or of both: a task of its own.
    Stream,
}

methods! {
    "etcdserverpb.KV" {
        Range "Range" Unary,
        RangeStream "RangeStream" Stream,
        Put "Put" Unary,
        DeleteRange "DeleteRange" Unary,
        Txn "Txn" Unary,
        Compact "Compact" Unary,
    }
    "etcdserverpb.Watch" { Watch "Watch" Stream }
    "etcdserverpb.Lease" {
        LeaseGrant "LeaseGrant" Unary,
        LeaseRevoke "LeaseRevoke" Unary,
        LeaseKeepAlive "LeaseKeepAlive" Stream,
        LeaseTimeToLive "LeaseTimeToLive" Unary,
        LeaseLeases "LeaseLeases" Unary,
    }
    "etcdserverpb.Cluster" {
        MemberAdd "MemberAdd" Unary,
        MemberRemove "MemberRemove" Unary,
        MemberUpdate "MemberUpdate" Unary,
        MemberList "MemberList" Unary,
        MemberPromote "MemberPromote" Unary,
    }
    "etcdserverpb.Maintenance" {
        Alarm "Alarm" Unary,
        Status "Status" Unary,
        Defragment "Defragment" Unary,
        Hash "Hash" Unary,
        HashKv "HashKV" Unary,
        Snapshot "Snapshot" Stream,
        MoveLeader "MoveLeader" Unary,
        Downgrade "Downgrade" Unary,
    }
    "etcdserverpb.Auth" {
        AuthEnable "AuthEnable" Unary,
        AuthDisable "AuthDisable" Unary,
        AuthStatus "AuthStatus" Unary,
        Authenticate "Authenticate" Unary,
        UserAdd "UserAdd" Unary,
        UserGet "UserGet" Unary,
        UserList "UserList" Unary,
        UserDelete "UserDelete" Unary,
        UserChangePassword "UserChangePassword" Unary,
        UserGrantRole "UserGrantRole" Unary,
        UserRevokeRole "UserRevokeRole" Unary,
        RoleAdd "RoleAdd" Unary,
        RoleGet "RoleGet" Unary,
        RoleList "RoleList" Unary,
        RoleDelete "RoleDelete" Unary,
        RoleGrantPermission "RoleGrantPermission" Unary,
        RoleRevokePermission "RoleRevokePermission" Unary,
    }
    "v3lockpb.Lock" {
        Lock "Lock" Program,
        Unlock "Unlock" Program,
    }
    "v3electionpb.Election" {
        Campaign "Campaign" Program,
        Proclaim "Proclaim" Program,
        Leader "Leader" Program,
        Observe "Observe" Stream,
        Resign "Resign" Program,
    }
    "grpc.health.v1.Health" {
        HealthCheck "Check" Unary,
        HealthWatch "Watch" Stream,
        HealthList "List" Unary,
    }
}

impl Method {
    /// The method of a path, or grpc-go's refusal.
    pub fn parse(path: &str) -> Result<Method, Status> {
        if let Some(method) = Method::find(path) {
            return Ok(method);
        }
        let message = match path.strip_prefix('/').unwrap_or(path).rsplit_once('/') {
            None => format!("malformed method name: {path:?}"),
            Some((service, method)) if is_service(service) => {
                format!("unknown method {method} for service {service}")
            }
            Some((service, _)) => format!("unknown service {service}"),
        };
        Err(Status::new(Code::Unimplemented, message))
    }

    /// Counters of this method.
    pub(crate) fn metrics(self, metrics: &Metrics) -> MethodMetrics {
        let kind = match self {
            Method::Watch | Method::LeaseKeepAlive => CallKind::BidiStream,
            _ if self.kind() == Kind::Stream => CallKind::ServerStream,
            _ => CallKind::Unary,
        };
        let service = self.path().trim_start_matches('/').split('/').next().unwrap_or_default();
        let mut made = metrics.grpc.method(kind, service, self.name());
        match self {
            Method::Range => made.time(&metrics.request_duration, &["Range"]),
            Method::Compact => made.time(&metrics.request_duration, &["Compaction"]),
            Method::Put
            | Method::DeleteRange
            | Method::Txn
            | Method::LeaseGrant
            | Method::LeaseRevoke
            | Method::Alarm => made.time(&metrics.request_duration, &[self.name()]),
            _ => {}
        }
        made
    }

    /// The last part of the path.
    pub fn name(self) -> &'static str {
        self.path().rsplit('/').next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
