// Authenticator: makes of what a request shows who asks and what he may do: the one place where a
// credential becomes an identity. One per process; RPC, HTTP, archives on their way in, plugins and
// sockets of tasks all come to it before anything is judged.
//
// In two steps, because what is only passed on to another server needs no rights here:
//   - `identify` says who it is, at once: the connection's proof, the node whose secret the state
//     has. Without rights a principal may do nothing.
//   - `at_once` and `resolve` add the rights that the token gives, or the absence of one: as they
//     are kept, as they are found here, or as another agent says, later. One question per token is
//     under way, whoever asks it; and at most `most_waiting` requests wait.
//
// Rules: what cannot be looked up, or not in time, is refused. A token that is none is refused in
// the same words everywhere, by `permission_denied`; any other error says that it is not known, and
// is not kept. A node's secret is compared with the state's secret of that node and never looked up
// as a token. Whoever keeps a principal for longer than one look asks whether it `is_fresh` before
// he judges by it again, and has it resolved anew if not.
//
// Without `enforces` everybody may do everything, as Nomad has it with ACLs off: tokens are taken
// as they come and not looked up, but where there must be one.
//
// What is known of a token counts for a while after its time when nobody can be asked, and no
// moment after somebody has said that it is none. Who shows unknown tokens again and again is told
// apart (GuessLimit): his questions are not passed on, and he may be let wait.
//
// Thread-safe. What is kept has a lock for each sixteenth of the tokens.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/access/authorize.hpp"
#include "runtime/access/credentials.hpp"
#include "runtime/access/grant.hpp"
#include "runtime/access/guess_limit.hpp"
#include "runtime/access/recent_grants.hpp"

namespace nomad::access {

/// Where this process looks credentials up. All thread-safe and quick.
struct Lookup {
  using Found = std::function<void(Result<Grant>)>;

  /// The newest index of the tables that rights are read from; what others say counts until that
  /// is another one. Empty: there are none here, and it counts until its time is over, or they say
  /// more; and when nobody can be asked, what they said last.
  std::function<std::uint64_t()> index = {};

  /// The newest index of the tokens, new ones, too: what is none may be one since. Empty: `index`
  /// tells that as well.
  std::function<std::uint64_t()> tokens_index = {};

  /// Whether that is the node's secret. Empty: this process knows no node's.
  std::function<bool(std::string_view node_id, std::string_view secret)> is_node = {};

  /// What a token, or "", gives; `permission_denied` when there is no such token; nothing: only
  /// others can say. Empty: always so.
  std::function<std::optional<Result<Grant>>(std::string_view token)> here = {};

  /// Asks others, and calls back once, on any thread; dropped uncalled it has failed. The error
  /// `unavailable` says that nobody was there to be asked. Empty: nobody can be.
  std::function<void(const SecretText& token, Found found)> elsewhere = {};
};

struct AuthenticatorOptions {
  bool enforces = true;
  Lookup lookup = {};
  CacheLimits cache = {};  ///< Of each sixteenth of the tokens.
  GuessLimits guesses = {};
  std::size_t most_waiting = 4096;

  /// For how long what was known of a token is taken again each time that nobody can be asked.
  std::chrono::milliseconds extended_for{5'000};

  /// For how long others' answers must be of older indexes than before until those count: they are
  /// no late answers then, but of servers that were made anew from a backup.
  std::chrono::milliseconds late_for{10'000};
  std::function<Time()> now = [] { return std::chrono::steady_clock::now(); };
};

class Authenticator : public std::enable_shared_from_this<Authenticator> {
public:
  using Done = std::function<void(Result<Principal>)>;

  static std::shared_ptr<Authenticator> make(AuthenticatorOptions options);

  /// Whether anybody needs rights: the one place that says whether this agent has ACLs on.
  bool enforces() const { return options_.enforces; }

  /// Who shows that, without rights yet.
  Principal identify(const Presented& shown) const;

  /// The same caller, who has shown this token since, or "", which is none; without rights yet.
  static Principal with_token(const Principal& who, std::string token);

  /// `who` with the rights of now, or why they are refused; nothing: they have to be asked for.
  std::optional<Result<Principal>> at_once(const Principal& who);

  /// The same, whenever it is known: `done` is called once, on this thread or on another one.
  void resolve(const Principal& who, Done done);

  /// Whether the rights of `who` are those of now.
  bool is_fresh(const Principal& who) const;

  /// That a request came with a token that is none.
  void note_refused(const Principal& who);

  /// Whether more of them come from where he is than mistakes explain.
  bool is_guessing(const Principal& who) const;

  /// The newest index of which anybody has said that rights changed by it. It falls where the
  /// servers' falls.
  std::uint64_t newest_index() const;

  /// Whether only others can say whether rights have changed.
  bool asks_others() const { return !options_.lookup.index && options_.lookup.elsewhere; }

  /// Asks them. `newest_index` is the one of then when `done` is called, on any thread.
  void look_for_changes(std::function<void()> done);

private:
  using Key = TokenHash::Value;

  struct HashOfKey {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key[0]); }
  };

  struct Shard {
    explicit Shard(const CacheLimits& limits) : cache{limits} {}

    std::mutex guard;
    GrantCache cache;
    std::unordered_map<Key, std::vector<std::function<void(const Result<GrantRef>&)>>, HashOfKey>
        waiting;
  };

  explicit Authenticator(AuthenticatorOptions options);

  Shard& shard_of(const Key& key) { return *shards_[key[1] % shards_.size()]; }

  NewestIndex newest() const;
  std::optional<Result<GrantRef>> known(const Key& key, std::string_view token);
  Result<GrantRef> keep(const Key& key, Result<Grant> found, const NewestIndex& asked_at);
  void ask_elsewhere(const Key& key, const SecretText& token);
  void found_elsewhere(const Key& key, Result<Grant> found, const NewestIndex& asked_at);
  Result<GrantRef> extend(const Key& key, const Error& why);
  void note_index(std::uint64_t index);

  Result<Principal> with(const Principal& who, const Result<GrantRef>& grant) const;

  const AuthenticatorOptions options_;
  const TokenHash hash_;
  const GrantRef unrestricted_;
  std::atomic<std::uint64_t> told_index_{0};  ///< That others' answers came with; see note_index.
  std::mutex told_guard_;
  std::optional<Time> behind_since_;  ///< All answers since have come with lesser ones.
  std::atomic<std::size_t> waiting_{0};
  GuessLimit guesses_;
  std::vector<std::unique_ptr<Shard>> shards_;
  RecentGrants recent_;  ///< Where this process has the tables that grants are read from.
};

}  // namespace nomad::access
