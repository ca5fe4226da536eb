//! Record segments by revision, small tables, the manifest, space reclaim.
