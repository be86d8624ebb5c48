#include "runtime/cluster/acl/token_commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/cluster/content_hash.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {

namespace {

namespace kind = state::kind;
using TokenReader = schema::AclToken::Reader;
using TokenBuilder = schema::AclToken::Builder;

constexpr std::size_t longest_token_name = 256;

Error invalid(std::string what) {
  return {Errc::invalid_argument, std::move(what)};
}

/// Over what an update may change, and the locality.
void set_token_hash(TokenBuilder token) {
  ContentHash hash;
  hash.add(std::string_view{token.asReader().getName().cStr()});
  hash.add(std::string_view{token.asReader().getType().cStr()});
  hash.add_each(token.asReader().getPolicies());
  hash.add(std::string_view{token.getGlobal() ? "global" : "local"});
  for (const auto link : token.asReader().getRoles())
    hash.add(link.getId());
  token.setHash(hash.finish());
}

/// What the server has drawn and sealed.
void set_fresh(TokenBuilder token, TokenReader fresh) {
  token.setAccessorId(fresh.getAccessorId());
  token.setCreateTime(fresh.getCreateTime());
  token.setSecretHash(fresh.getSecretHash());
  token.setKeyId(fresh.getKeyId());
  token.setSealed(fresh.getSealed());
}

std::string shown(std::int64_t nanoseconds) {
  return format_duration(Nanoseconds{nanoseconds});
}

/// When a new token ends: as it says, or after its time to live; 0 is never.
std::int64_t end_of(TokenReader token, std::int64_t created) {
  if (token.getExpirationTime() != 0 || token.getExpirationTtl() == 0)
    return token.getExpirationTime();
  std::int64_t end = 0;
  return __builtin_add_overflow(created, token.getExpirationTtl(), &end) ? INT64_MAX : end;
}

void check_life(std::vector<std::string>& mistakes,
                TokenReader token,
                std::int64_t created,
                const TokenBounds& bounds) {
  if (token.getExpirationTtl() < 0)
    mistakes.push_back(fmt::format("token expiration TTL '{}' should not be negative",
                                   shown(token.getExpirationTtl())));
  const auto end = end_of(token, created);
  if (end == 0) return;
  if (end < created) mistakes.emplace_back("expiration time cannot be before create time");
  std::int64_t life = 0;
  if (__builtin_sub_overflow(end, created, &life)) life = end < created ? INT64_MIN : INT64_MAX;
  const bool is_long = life > bounds.most.count();
  if (is_long || life < bounds.least.count())
    mistakes.push_back(fmt::format(
        "expiration time cannot be {} than {} in the future (was {})", is_long ? "more" : "less",
        format_duration(is_long ? bounds.most : bounds.least), shown(life)));
}

/// What an update says must be as it is, or be left out.
void check_unchanged(std::vector<std::string>& mistakes, TokenReader wanted, TokenReader stored) {
  if (wanted.getGlobal() != stored.getGlobal()) mistakes.emplace_back("cannot toggle global mode");
  if (wanted.getExpirationTtl() != 0 && wanted.getExpirationTtl() != stored.getExpirationTtl())
    mistakes.emplace_back("cannot update expiration TTL");
  if (wanted.getExpirationTime() != 0 && wanted.getExpirationTime() != stored.getExpirationTime())
    mistakes.emplace_back("cannot update expiration time");
}

void check_type(std::vector<std::string>& mistakes, TokenReader token) {
  const bool is_tied = token.getPolicies().size() != 0 || token.getRoles().size() != 0;
  const auto type = view(token.getType());
  if (token.getName().size() > longest_token_name) mistakes.emplace_back("token name too long");
  if (type == "client") {
    if (!is_tied) mistakes.emplace_back("client token missing policies or roles");
  } else if (type == "management") {
    if (is_tied)
      mistakes.emplace_back("management token cannot be associated with policies or roles");
  } else {
    mistakes.emplace_back("token type must be client or management");
  }
}

/// Links to roles by their ids, each once, whether they were given by id or by name.
Result<std::vector<std::string>> roles_of(const state::Snapshot& state, TokenReader token) {
  std::vector<std::string> ids;
  for (const auto link : token.getRoles()) {
    const auto named = view(link.getId().size() != 0 ? link.getId() : link.getName());
    const auto role
        = link.getId().size() != 0 ? state.row<kind::AclRoles>(named) : role_of_name(state, named);
    if (!role) return invalid(fmt::format("cannot find role {}", named));
    auto id = copy(role->getId());
    if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(std::move(id));
  }
  return ids;
}

}  // namespace

Result<AclDecision> decide_bootstrap(const state::Snapshot& state,
                                     const access::Asking& asking,
                                     const Object<schema::AclToken>& fresh,
                                     std::uint64_t reset_index) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto done = state.unguarded().tables().acl_bootstrap;
  if (done && reset_index == 0)
    return invalid(
        fmt::format("ACL bootstrap already done (reset index: {})", done->getModifyIndex()));
  if (done && reset_index != done->getModifyIndex())
    return invalid(fmt::format("Invalid bootstrap reset index (specified {}, reset index: {})",
                               reset_index, done->getModifyIndex()));
  Draft<schema::Command> draft;
  auto body = draft->initAclBootstrap();
  body.setResetIndex(done ? reset_index : 0);
  auto token = body.initToken();
  set_fresh(token, *fresh);
  token.setName("Bootstrap Token");
  token.setType("management");
  token.setGlobal(true);
  set_token_hash(token);
  return AclDecision{allowed, draft.freeze(), copy(fresh->getAccessorId())};
}

Result<AclDecision> decide_put_token(const state::Snapshot& state,
                                     const access::Asking& asking,
                                     const Object<schema::AclToken>& wanted,
                                     const Object<schema::AclToken>& fresh,
                                     const TokenBounds& bounds) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto accessor = view(wanted->getAccessorId());
  Object<schema::AclToken> stored;
  if (!accessor.empty()) {
    stored = state.row<kind::AclTokens>(accessor);
    if (!stored) return invalid(fmt::format("cannot find token {}", accessor));
  }
  std::vector<std::string> mistakes;
  check_type(mistakes, *wanted);
  if (stored)
    check_unchanged(mistakes, *wanted, *stored);
  else
    check_life(mistakes, *wanted, fresh->getCreateTime(), bounds);
  if (!mistakes.empty()) return invalid("token 0 invalid: " + jobspec::join_errors(mistakes));
  const auto roles = NOMAD_TRY(roles_of(state, *wanted));

  Draft<schema::Command> draft;
  auto body = draft->initAclTokenUpsert();
  body.setIsNew(!stored);
  auto token = body.initToken();
  token.setName(wanted->getName());
  token.setType(wanted->getType());
  if (wanted->hasPolicies()) token.setPolicies(wanted->getPolicies());
  if (!roles.empty()) {
    auto links = token.initRoles(static_cast<unsigned>(roles.size()));
    for (unsigned i = 0; i < links.size(); ++i)
      links[i].setId(text(roles[i]));
  }
  token.setGlobal(wanted->getGlobal());
  if (stored) {
    token.setAccessorId(stored->getAccessorId());  // the log keeps the rest of it
  } else {
    set_fresh(token, *fresh);
    token.setExpirationTime(end_of(*wanted, fresh->getCreateTime()));
    token.setExpirationTtl(wanted->getExpirationTtl());
  }
  set_token_hash(token);
  return AclDecision{allowed, draft.freeze(),
                     copy(stored ? stored->getAccessorId() : fresh->getAccessorId())};
}

Result<AclDecision> decide_delete_token(const state::Snapshot& state,
                                        const access::Asking& asking,
                                        std::string_view accessor) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  if (!state.row<kind::AclTokens>(accessor))
    return invalid(fmt::format("Cannot delete nonexistent tokens: {}", accessor));
  Draft<schema::Command> draft;
  draft->setAclTokenDelete(text(accessor));
  return AclDecision{allowed, draft.freeze(), std::string{accessor}};
}

Result<AclDecision> decide_one_time_token(const state::Snapshot& state,
                                          const access::Asking& asking,
                                          std::string_view secret_hash,
                                          std::string_view one_time_hash,
                                          std::int64_t now) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto token = token_of_secret(state, secret_hash);
  if (!token || has_expired(*token, now)) return access::permission_denied();
  Draft<schema::Command> draft;
  auto one_time = draft->initAclOneTimeTokenUpsert();
  one_time.setAccessorId(token->getAccessorId());
  one_time.setSecretHash(data_of(one_time_hash));
  one_time.setExpiresAt(now + one_time_token_life.count());
  return AclDecision{allowed, draft.freeze(), copy(token->getAccessorId())};
}

Result<AclDecision> decide_exchange(const state::Snapshot& state,
                                    const access::Asking& asking,
                                    std::string_view one_time_hash,
                                    std::int64_t now) {
  const auto allowed = NOMAD_TRY(access::authorize(asking, {}));
  const auto one_time = state.row<kind::AclOneTimeTokens>(one_time_hash);
  if (!one_time || one_time->getExpiresAt() < now) return access::permission_denied();
  const auto token = state.row<kind::AclTokens>(view(one_time->getAccessorId()));
  if (!token || has_expired(*token, now)) return access::permission_denied();
  Draft<schema::Command> draft;
  auto body = draft->initAclOneTimeTokenExchange();
  body.setSecretHash(data_of(one_time_hash));
  body.setAccessorId(one_time->getAccessorId());
  return AclDecision{allowed, draft.freeze(), copy(one_time->getAccessorId())};
}

}  // namespace nomad::cluster
