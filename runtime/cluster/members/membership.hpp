// Membership: which servers there are and how they are, as one server knows it. Pure: times are
// arguments, what to send comes out, what arrives goes in.
//
// Servers exchange their whole tables (dozens of rows at most) over the authenticated connections
// that they have anyway; nothing is ever taken from an unauthenticated datagram. Each server probes
// one other in turn each interval by such an exchange. One that does not answer is probed by others
// on our behalf before it counts as failed.
//
// (1) Only a server itself raises its incarnation. Of two rows of one id the higher incarnation
//     wins; of the same incarnation the worse status wins: left, failed, leaving, alive.
// (2) A server that hears that it failed or left, and has not, raises its incarnation above that
//     row's: so it is alive again for everybody.
// (3) `failed` is said only after the server answered neither us nor those who probed it for us, in
//     `failures` rounds one after the other.
// (4) `left` is believed of the server itself; of others, who may have it from an operator, only
//     once it does not answer here either.
// (5) Rows are bounded: ours and those of all other regions each; and so are the steps by which
//     others may raise an incarnation, so that none ever wraps.
// (6) A row of a server that left stays for `forget_after`, so that old news can't bring it back;
//     a failed one stays as long, and is probed now and then, because it may come back.
// (7) A caller of another region is believed about its own servers alone; of others that are
//     unknown here it may say that they are there, never of ours. But what it says of ourselves is
//     answered (2): otherwise a server that it took for failed would stay so there.
// (8) Of two rows that are equal by (1) the server's own word counts: another one, of an older
//     release, may have passed its row on without what it does not know.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/random.hpp"
#include "runtime/base/result.hpp"

namespace nomad::cluster {

/// Ordered: of the same incarnation the later one wins.
enum class MemberStatus : std::uint8_t { alive, leaving, failed, left };

/// "alive", "leaving", "failed", "left".
std::string_view to_string(MemberStatus status);

struct MemberInfo {
  std::string id{};
  std::string name{};  ///< "<node name>.<region>"
  std::string region{};
  std::string datacenter{};
  std::string rpc_address{};
  std::string http_address{};
  std::string serf_address{};  ///< As it is shown; empty: of a server that does not say it.
  std::string build{};
  std::uint32_t expect = 0;  ///< Found a cluster with so many; 0: it does not found one.
  std::string cluster_id{};  ///< Of its log; empty: it has none.
  bool non_voter = false;
  std::uint64_t incarnation = 0;
  MemberStatus status = MemberStatus::alive;

  bool is_usable() const { return status == MemberStatus::alive; }

  friend bool operator==(const MemberInfo&, const MemberInfo&) = default;
};

/// Who stands for a name: a server that left, or was set up anew, comes back under another id. The
/// one found so far (or null), or `other` of the same name.
inline const MemberInfo& bearer_of_name(const MemberInfo* found, const MemberInfo& other) {
  return found != nullptr && found->is_usable() ? *found : other;
}

/// The longest of the texts of a row, in bytes.
inline constexpr std::size_t most_member_text = 512;

/// The highest incarnation of a row. Nobody comes near it by telling the truth.
inline constexpr std::uint64_t most_incarnation = std::uint64_t{1} << 62U;

/// What one server sends another.
struct MemberTable {
  std::string from;  ///< The sender's id, as it says itself.
  std::vector<MemberInfo> members;
  std::vector<std::string> removed;  ///< Ids that may never be members of the log again.
};

struct MembershipOptions {
  std::chrono::milliseconds probe_interval{1'000};
  unsigned failures = 2;  ///< Failed rounds before a server counts as failed.
  unsigned indirect = 3;  ///< Servers asked to probe one that does not answer.
  std::chrono::seconds reconnect_interval{10};  ///< Between probes of a failed server.
  std::chrono::hours forget_after{72};
  std::size_t most_rows = 512;  ///< Of our region, and again of all others together.
};

class Membership {
public:
  using Time = std::chrono::nanoseconds;

  Membership(MemberInfo self, MembershipOptions options, Random random, Time now);

  /// What to tell another server.
  MemberTable table() const;

  /// News from a server of `region`, as its connection has established it. True when somebody's row
  /// has changed in a way that others should hear of at once.
  bool merge(const MemberTable& table, const std::string& region, Time now);

  /// Whom to probe now; null when it is nobody's turn.
  std::optional<MemberInfo> next_probe(Time now);

  /// Who shall probe `id` for us, after it has not answered us.
  std::vector<MemberInfo> helpers(const std::string& id);

  /// The outcome of a probe, ours or a helper's. True as with `merge`.
  bool probed(const std::string& id, bool answered, Time now);

  /// Says of each member of that name that does not answer that it left. `not_found` when there is
  /// none; `prune` forgets it right away. One that is alive stays, and one that lives will say so.
  Result<> force_leave(const std::string& name, bool prune, Time now);

  /// What others must know of us has changed (we have a log now, we are leaving, we left).
  void set_cluster_id(const std::string& cluster_id);
  void set_status(MemberStatus status);

  /// Drops the rows whose time is over.
  void expire(Time now);

  const MemberInfo& self() const { return rows_.at(self_).info; }

  const MemberInfo* find(const std::string& id) const;

  /// All rows, by name.
  std::vector<MemberInfo> members() const;

  /// Since when `id` has its status.
  Time since(const std::string& id) const;

  /// Whom to tell of a change: everybody alive but us.
  std::vector<MemberInfo> others() const;

private:
  struct Row {
    MemberInfo info;
    Time since{0};
    Time last_probe{0};
    unsigned failures = 0;
  };

  /// Who says something: the region is established, the id is his claim.
  struct Sender {
    const std::string& region;
    const std::string& id;

    bool means_himself(const MemberInfo& row) const { return row.id == id && row.region == region; }
  };

  bool may_tell(const Sender& sender, const MemberInfo& news) const;
  bool has_room(const std::string& region) const;
  bool accept(const Sender& sender, const MemberInfo& news, Time now);
  bool answer_rumour(const MemberInfo& rumour);
  void set_row_status(Row& row, MemberStatus status, Time now);

  std::string self_;
  MembershipOptions options_;
  Random random_;
  std::map<std::string, Row> rows_;  ///< By id.
  std::vector<std::string> round_;   ///< Who is still to be probed in this round.
  Time next_probe_;
};

/// Whether and with whom this server founds a cluster: it and the others of its region that are
/// alive and expect the same number, when they are so many, none of them has a log, and this one's
/// id is the lowest: one server alone writes the first entry, the others vote for it. In the order
/// of their ids; empty: not (yet), `why` says what for.
std::vector<MemberInfo> founders(const std::vector<MemberInfo>& members,
                                 const std::string& self,
                                 std::string* why = nullptr);

}  // namespace nomad::cluster
