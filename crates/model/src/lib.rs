//! The obvious reference: etcd's semantics on ordered maps. Shares no code with the product.
