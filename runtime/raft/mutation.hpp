// Mutations: deliberate mistakes for tests to find. Built without NOMAD_RAFT_MUTATIONS (as the
// program is), every mutation is a constant false and no mistake exists in the binary.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

namespace nomad::raft {

enum class Mutation : std::uint8_t {
  none,
  vote_twice,             ///< Grants every up-to-date candidate of a term.
  forget_vote,            ///< Persists the term without the vote.
  forget_fsync,           ///< Takes each write for durable as soon as it was handed out.
  vote_for_short_log,     ///< Does not compare logs before voting.
  ignore_pre_vote,        ///< Stands for election without asking first whether it could win.
  ignore_leader,          ///< Votes although the leader has just been heard.
  commit_old_term,        ///< Commits entries of earlier terms by counting replicas.
  commit_unmatched,       ///< A follower commits what it has not compared with the leader.
  accept_any_previous,    ///< Appends without comparing the entry before.
  keep_conflicts,         ///< Keeps its own entries where the leader's differ.
  keep_stale_acks,        ///< Sends an acknowledgement after its term has passed.
  ack_unsaved,            ///< Acknowledges entries that are not durable.
  count_sent_as_matched,  ///< Counts what was sent to a follower as stored there.
  read_without_quorum,    ///< Answers a read without asking whether it still leads.
  lease_too_long,         ///< Believes in its lease for three election timeouts.
  count_learners,         ///< Counts learners' copies and votes.
  keep_log_on_install,    ///< Keeps a conflicting log behind an installed snapshot.
  skip_barrier,           ///< Reads before an entry of the own term is committed.
};

inline constexpr std::array mutation_names = {
    std::pair{Mutation::none, std::string_view{"none"}},
    std::pair{Mutation::vote_twice, std::string_view{"vote_twice"}},
    std::pair{Mutation::forget_vote, std::string_view{"forget_vote"}},
    std::pair{Mutation::forget_fsync, std::string_view{"forget_fsync"}},
    std::pair{Mutation::vote_for_short_log, std::string_view{"vote_for_short_log"}},
    std::pair{Mutation::ignore_pre_vote, std::string_view{"ignore_pre_vote"}},
    std::pair{Mutation::ignore_leader, std::string_view{"ignore_leader"}},
    std::pair{Mutation::commit_old_term, std::string_view{"commit_old_term"}},
    std::pair{Mutation::commit_unmatched, std::string_view{"commit_unmatched"}},
    std::pair{Mutation::accept_any_previous, std::string_view{"accept_any_previous"}},
    std::pair{Mutation::keep_conflicts, std::string_view{"keep_conflicts"}},
    std::pair{Mutation::keep_stale_acks, std::string_view{"keep_stale_acks"}},
    std::pair{Mutation::ack_unsaved, std::string_view{"ack_unsaved"}},
    std::pair{Mutation::count_sent_as_matched, std::string_view{"count_sent_as_matched"}},
    std::pair{Mutation::read_without_quorum, std::string_view{"read_without_quorum"}},
    std::pair{Mutation::lease_too_long, std::string_view{"lease_too_long"}},
    std::pair{Mutation::count_learners, std::string_view{"count_learners"}},
    std::pair{Mutation::keep_log_on_install, std::string_view{"keep_log_on_install"}},
    std::pair{Mutation::skip_barrier, std::string_view{"skip_barrier"}},
};

#ifdef NOMAD_RAFT_MUTATIONS
#define NOMAD_MUTATED(name) (options_.mutation == ::nomad::raft::Mutation::name)
#else
#define NOMAD_MUTATED(name) false
#endif

}  // namespace nomad::raft
