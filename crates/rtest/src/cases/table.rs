//! All cases by name.

use super::place::Place;
use anyhow::Result;
use std::pin::Pin;

type Work<'a> = Pin<Box<dyn Future<Output = Result<()>> + 'a>>;

/// One case.
pub(crate) struct Case {
    /// Name of its test: `uc_` and its number first.
    pub(crate) name: &'static str,
    /// The test.
    pub(crate) run: for<'a> fn(&'a Place) -> Work<'a>,
}

impl Case {
    /// True if one of the words names the case, or if there is none.
    pub(crate) fn is_chosen(&self, only: &[String]) -> bool {
        let named = |word: &String| self.name.contains(&word.to_lowercase().replace('-', "_"));
        only.is_empty() || only.iter().any(named)
    }
}

macro_rules! cases {
    ($($area:ident :: $name:ident),* $(,)?) => {
        &[$(Case { name: stringify!($name), run: |place| Box::pin(super::$area::$name(place)) }),*]
    };
}

/// The long ones first, so that none of them runs alone at the end.
pub(crate) const CASES: &[Case] = cases![
    kubernetes::uc_149_a_small_machine_is_enough,
    space::uc_015_a_quota_above_8_gib_is_taken,
    space::uc_011_overwrites_do_not_fragment,
    space::uc_009_compaction_fails_no_request,
    space::uc_004_defragment_fails_no_request,
    disk::uc_023_a_crash_in_the_first_second_is_started_over,
    network::uc_113_too_many_pings_are_told_so,
    ops::uc_146_a_member_at_rest_is_silent,
    watch_load::uc_062_closed_watches_leave_nothing,
    disk::uc_153_reads_do_not_wait_for_syncs,
    disk::uc_017_a_full_disk_loses_nothing,
    disk::uc_026_fallocate_may_be_missing_or_interrupted,
    damage::uc_020_damage_within_the_log_is_refused,
    damage::uc_021_the_last_record_may_be_cut_anywhere,
    damage::uc_024_damage_is_never_served,
    damage::uc_031_a_shortened_store_is_refused,
    durability::uc_025_an_entry_without_effect_does_not_break_the_start,
    durability::uc_037_a_crash_while_compacting_keeps_the_revision,
    durability::uc_038_a_txn_at_a_compacted_revision_writes_nothing,
    watch_load::uc_047_catching_up_shares_memory,
    watch_load::uc_143_gauges_of_watchers_return_to_zero,
    watch::uc_045_events_come_beside_large_ranges,
    watch::uc_048_a_watch_from_a_compacted_delete_gets_it,
    watch::uc_049_a_delete_at_the_compacted_revision_is_not_missed,
    watch::uc_051_progress_never_runs_ahead_of_events,
    watch::uc_052_a_quiet_watch_is_told_of_progress,
    watch::uc_056_catch_up_splits_at_revisions,
    watch::uc_059_odd_watch_requests_are_answered,
    clock::uc_067_the_wall_clock_moves_no_lease,
    lease::uc_068_a_large_revoke_fails_no_request,
    lease::uc_069_a_negative_lease_is_there_after_a_restart,
    lease::uc_070_an_absurd_ttl_is_refused,
    lease::uc_073_keep_alive_races_with_grant,
    lease::uc_074_a_lock_is_not_given_to_a_dead_lease,
    network::uc_115_an_address_with_a_zone_is_not_mistaken,
    network::uc_119_large_bodies_are_not_kept,
    network::uc_120_half_a_discovery_is_refused,
    range::uc_131_a_range_stream_is_one_answer,
    range::uc_131_a_compacted_range_stream_is_told_so,
    range::uc_133_count_only_is_exact,
    limits::uc_134_operations_are_counted_as_etcd_does,
    limits::uc_136_the_size_of_requests_has_one_limit,
    limits::uc_137_bad_arguments_have_etcds_answers,
    ops::uc_140_probes_tell_liveness_from_readiness,
    ops::uc_141_sigterm_ends_a_single_member,
    cli::uc_144_fields_are_printed_once,
    space::uc_002_nospace_stays_until_it_is_disarmed,
    space::uc_008_defragment_never_grows_the_store,
    space::uc_014_status_tells_the_quota,
    kubernetes::uc_151_requests_of_the_api_server,
];
