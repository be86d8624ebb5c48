#include "runtime/access/authenticator.hpp"

#include <algorithm>
#include <utility>

namespace nomad::access {
namespace {

constexpr std::size_t shard_count = 16;

const std::string& token_of(const Principal& who) {
  static const std::string none;
  const auto& token = who.caller().token;
  return token ? token->secret.reveal() : none;
}

/// Everything, for ever. Owned by nobody, so that no two threads count the same references.
GrantRef unrestricted() {
  static const Grant grant{.rights = Rights::everything()};
  return {std::shared_ptr<const Grant>{}, &grant};
}

/// Whether whose it is still is there.
bool counts(const Grant& grant) {
  return !grant.holds || grant.holds();
}

/// An answer that is called once: when the last copy goes uncalled, by a failure.
class Once {
public:
  explicit Once(Lookup::Found found) : found_{std::move(found)} {}

  Once(const Once&) = delete;

  ~Once() { (*this)(Error{Errc::unavailable, "nobody said what the token allows"}); }

  void operator()(Result<Grant> grant) {
    if (!is_called_.exchange(true)) found_(std::move(grant));
  }

private:
  Lookup::Found found_;
  std::atomic<bool> is_called_{false};
};

}  // namespace

std::shared_ptr<Authenticator> Authenticator::make(AuthenticatorOptions options) {
  return std::shared_ptr<Authenticator>{new Authenticator{std::move(options)}};
}

Authenticator::Authenticator(AuthenticatorOptions options)
    : options_{std::move(options)}, unrestricted_{unrestricted()}, guesses_{options_.guesses} {
  for (std::size_t i = 0; i < shard_count; ++i)
    shards_.push_back(std::make_unique<Shard>(options_.cache));
}

// -- who it is

Principal Authenticator::identify(const Presented& shown) const {
  auto caller = std::make_shared<Caller>();
  caller->remote = shown.remote;
  if (shown.peer) caller->peer = *shown.peer;
  if (!shown.first_remote.empty() && caller->is_server()) caller->remote = shown.first_remote;
  const auto& [token, node_id, node_secret, limits] = shown.credentials;
  if (!node_id.empty() && !node_secret.empty() && options_.lookup.is_node
      && options_.lookup.is_node(node_id, node_secret))
    caller->node = NodeIdentity{node_id};
  if (!token.empty()) caller->token = TokenIdentity{SecretText{token}};
  if (!limits.empty())  // what a newer release means by them: nothing is left
    caller->limits = std::make_shared<const Limits>(Limits::read(limits).value_or(Limits{}));
  return {std::move(caller), shown.needs_token};
}

Principal Authenticator::with_token(const Principal& who, std::string token) {
  auto caller = std::make_shared<Caller>(who.caller());
  caller->token = {};
  // Who goes on as one without a token has shown his before, where all need one.
  if (token.empty()) return {std::move(caller), false};
  caller->token = TokenIdentity{SecretText{std::move(token)}};
  return {std::move(caller), who.needs_token_};
}

// -- what it may do

std::optional<Result<Principal>> Authenticator::at_once(const Principal& who) {
  if (!options_.enforces && !who.needs_token_) return with(who, unrestricted_);
  const auto& token = token_of(who);
  if (who.needs_token_ && token.empty()) return permission_denied();
  const auto grant = known(hash_.of(token), token);
  if (!grant) return {};
  return with(who, *grant);
}

void Authenticator::resolve(const Principal& who, Done done) {
  if (auto now = at_once(who)) return done(std::move(*now));
  if (!options_.lookup.elsewhere)
    return done(Error{Errc::unavailable, "nobody can say what the token allows"});
  if (waiting_ >= options_.most_waiting)
    return done(Error{Errc::overloaded, "too many requests wait for what their tokens allow"});
  const auto& token = token_of(who);
  const auto key = hash_.of(token);
  const bool is_doubtful = is_guessing(who);
  bool is_first = false;
  {
    auto& shard = shard_of(key);
    std::unique_lock lock{shard.guard};
    if (is_doubtful && !shard.cache.last_known(key, options_.now())) {
      lock.unlock();
      return done(Error{Errc::overloaded, "too many unknown tokens come from this address"});
    }
    auto& waiting = shard.waiting[key];
    is_first = waiting.empty();
    waiting.emplace_back([this, who, done = std::move(done)](const Result<GrantRef>& grant) {
      done(with(who, grant));
    });
    ++waiting_;
  }
  if (is_first) ask_elsewhere(key, SecretText{token});
}

bool Authenticator::is_fresh(const Principal& who) const {
  const auto& grant = who.grant();
  if (!grant || grant == unrestricted_) return grant != nullptr;
  return grant->index == newest_index() && options_.now() < grant->until && counts(*grant);
}

void Authenticator::note_refused(const Principal& who) {
  if (!token_of(who).empty()) guesses_.note(who.caller().remote, options_.now());
}

bool Authenticator::is_guessing(const Principal& who) const {
  return guesses_.is_over(who.caller().remote, options_.now());
}

void Authenticator::look_for_changes(std::function<void()> done) {
  if (!options_.lookup.elsewhere) return done();
  const auto once = std::make_shared<Once>(
      [self = shared_from_this(), done = std::move(done)](const Result<Grant>& found) {
        if (found) self->note_index(found->index);
        done();
      });
  options_.lookup.elsewhere({}, [once](Result<Grant> found) { (*once)(std::move(found)); });
}

std::uint64_t Authenticator::newest_index() const {
  const auto told = told_index_.load(std::memory_order_relaxed);
  return options_.lookup.index ? std::max(told, options_.lookup.index()) : told;
}

NewestIndex Authenticator::newest() const {
  const auto index = newest_index();
  const auto& tokens = options_.lookup.tokens_index;
  return {index, tokens ? std::max(index, tokens()) : index};
}

/// What is kept of a token, or found in this process.
std::optional<Result<GrantRef>> Authenticator::known(const Key& key, std::string_view token) {
  const auto asked_at = newest();
  const auto now = options_.now();
  const bool has_tables = options_.lookup.index != nullptr;
  if (has_tables)
    if (auto recent = recent_.find(key, asked_at, now); recent && counts(*recent)) return recent;
  std::optional<GrantRef> kept;
  {
    auto& shard = shard_of(key);
    const std::lock_guard lock{shard.guard};
    kept = shard.cache.find(key, asked_at, now);
  }
  if (kept && !*kept) return permission_denied();
  if (kept && counts(**kept))
    return has_tables ? recent_.keep(key, **kept, asked_at.of_known) : *kept;
  if (!options_.lookup.here) return {};
  auto found = options_.lookup.here(token);
  if (!found) return {};
  return keep(key, std::move(*found), asked_at);
}

/// Keeps what a look-up has found that was begun when `asked_at` was the newest index.
Result<GrantRef> Authenticator::keep(const Key& key,
                                     Result<Grant> found,
                                     const NewestIndex& asked_at) {
  const auto now = options_.now();
  if (found && found->until <= now) found = permission_denied();
  if (!found && found.error().code != Errc::permission_denied) return found.error();
  auto index = asked_at.of_unknown;
  std::shared_ptr<Grant> grant;
  if (found) {
    grant = std::make_shared<Grant>(std::move(*found));
    index = grant->index;  // of an answer that is behind: it is not found again
  }
  auto& shard = shard_of(key);
  const std::lock_guard lock{shard.guard};
  auto kept = shard.cache.keep(key, std::move(grant), index, now);
  if (!kept) return permission_denied();
  return kept;
}

void Authenticator::ask_elsewhere(const Key& key, const SecretText& token) {
  const auto once = std::make_shared<Once>(
      [self = shared_from_this(), key, asked_at = newest()](Result<Grant> found) {
        self->found_elsewhere(key, std::move(found), asked_at);
      });
  options_.lookup.elsewhere(token, [once](Result<Grant> found) { (*once)(std::move(found)); });
}

void Authenticator::found_elsewhere(const Key& key,
                                    Result<Grant> found,
                                    const NewestIndex& asked_at) {
  const bool has_tables = options_.lookup.index != nullptr;
  if (found && has_tables)
    found->index = asked_at.of_known;  // and no longer: these tables say the rest
  if (found && !has_tables) note_index(found->index);
  const bool is_nobody_there = !found && found.error().code == Errc::unavailable && !has_tables;
  const auto grant
      = is_nobody_there ? extend(key, found.error()) : keep(key, std::move(found), asked_at);
  std::vector<std::function<void(const Result<GrantRef>&)>> waiting;
  {
    auto& shard = shard_of(key);
    const std::lock_guard lock{shard.guard};
    if (auto entry = shard.waiting.extract(key)) waiting = std::move(entry.mapped());
  }
  waiting_ -= waiting.size();
  for (const auto& tell : waiting)
    tell(grant);
}

/// What is known of a token while nobody can be asked: what it was, if it was one.
Result<GrantRef> Authenticator::extend(const Key& key, const Error& why) {
  const auto now = options_.now();
  const auto newest = newest_index();
  auto& shard = shard_of(key);
  const std::lock_guard lock{shard.guard};
  const auto last = shard.cache.last_known(key, now);
  if (!last) return why;
  auto again = std::make_shared<Grant>(*last);
  again->index = newest;
  return shard.cache.extend(key, std::move(again), now + options_.extended_for);
}

/// The greatest counts, because answers overtake each other, until all have been less for a while.
void Authenticator::note_index(std::uint64_t index) {
  const std::lock_guard lock{told_guard_};
  if (index < told_index_) {
    const auto now = options_.now();
    if (!behind_since_) behind_since_ = now;
    if (now - *behind_since_ < options_.late_for) return;
  }
  behind_since_.reset();
  told_index_ = index;
}

/// `who` with what was found of his token.
Result<Principal> Authenticator::with(const Principal& who, const Result<GrantRef>& grant) const {
  if (!grant) return grant.error();
  auto principal = who;
  principal.grant_ = options_.enforces ? *grant : unrestricted_;
  if ((*grant)->workload) {
    auto caller = std::make_shared<Caller>(*who.caller_);
    caller->workload = (*grant)->workload;
    principal.caller_ = std::move(caller);
  }
  return principal;
}

}  // namespace nomad::access
