// Locks of variables: what they may be like, and the commands that take and lift them. Whether a
// variable can be locked is judged where the command is applied. The rules' texts are Nomad's.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "runtime/cluster/variable_commands.hpp"

namespace nomad::cluster {

inline constexpr std::chrono::seconds shortest_lock_ttl{10};
inline constexpr std::chrono::hours longest_lock_ttl{24};

/// Also of its delay.
inline constexpr std::chrono::seconds default_lock_ttl{15};

/// Ids are given by who takes the lock, or made for him.
inline constexpr std::size_t longest_lock_id = 128;

/// What a lock is to be like. Errors are `rejected`.
Result<> check_lock(std::string_view id,
                    std::chrono::nanoseconds ttl,
                    std::chrono::nanoseconds delay);

/// Whether a variable of that path and size may be locked: as `check_variable`, and it may be
/// empty.
Result<> check_locked_variable(std::string_view ns, std::string_view path, std::size_t item_bytes);

/// Takes the lock that `variable` has, for a caller. With `keep_data` a variable that is there
/// holds on to what it holds. Else as `decide_set_variable`.
Result<SealedDecision> decide_lock_variable(const state::Snapshot& snapshot,
                                            const access::Asking& asking,
                                            std::string_view region,
                                            const Object<schema::Variable>& variable,
                                            bool keep_data);

/// Gives the lock of that id up, for a caller.
Result<SealedDecision> decide_release_lock(const access::Asking& asking,
                                           std::string_view ns,
                                           std::string_view path,
                                           std::string_view id,
                                           std::int64_t now);

/// Whether the caller has the lock of that id, and so may renew it; `not_found` or `conflict`.
Result<> check_renewal(const state::Snapshot& snapshot,
                       const access::Asking& asking,
                       std::string_view ns,
                       std::string_view path,
                       std::string_view id);

/// Lifts the lock of that id from a variable (`now`: Unix nanoseconds); with an `index` only while
/// that is the ModifyIndex of its row, or it is a `conflict`.
Object<schema::Command> release_lock(std::string_view ns,
                                     std::string_view path,
                                     std::string_view id,
                                     std::int64_t now,
                                     std::uint64_t index = 0);

}  // namespace nomad::cluster
