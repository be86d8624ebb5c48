// Tokens of access control: the first one, those that follow, and what ends them. All conditions
// are judged here, so that of several who ask at the same moment, of whichever servers, one wins.
#include "runtime/state/apply_kind.hpp"

namespace nomad::state {

namespace {

using TokenReader = schema::AclToken::Reader;

/// Of an index that begins with eight bytes of time: what is before `time`, at most `limit` keys'
/// rests.
std::vector<std::string> before(const PersistentMap<Nothing>& by_time,
                                std::int64_t time,
                                std::uint32_t limit) {
  std::vector<std::string> rests;
  if (time <= 0) return rests;
  const auto end = number_key(static_cast<std::uint64_t>(time));
  for (const auto& entry : by_time.all()) {
    if (rests.size() >= limit || entry.key().substr(0, end.size()) >= std::string_view{end}) break;
    rests.emplace_back(entry.key().substr(end.size()));
  }
  return rests;
}

}  // namespace

/// Why a new token cannot be stored.
std::optional<Error> Applier::check_new_token(TokenReader token) const {
  if (token.getAccessorId().size() == 0 || token.getSecretHash().size() == 0)
    return Error{Errc::invalid_argument, "a token needs an accessor and a secret"};
  if (t_.acl_tokens.contains(view(token.getAccessorId()))
      || t_.acl_tokens_by_secret.contains(
          kind::AclTokens::key_of_hash(kind::bytes_of(token.getSecretHash()))))
    return Error{Errc::conflict, "there is such a token already"};
  // The proposer sealed it some time ago: a key that has gone since would leave it unreadable.
  if (!t_.root_keys.contains(view(token.getKeyId())))
    return Error{Errc::unavailable,
                 "root key \"" + copy(token.getKeyId()) + "\" has been removed; try again"};
  return std::nullopt;
}

void Applier::acl_bootstrap(schema::AclBootstrapApply::Reader command) {
  const auto done = t_.acl_bootstrap;
  const Index reset = done ? done->getModifyIndex() : 0;
  if (done && command.getResetIndex() != reset)
    return refuse(Errc::invalid_argument,
                  command.getResetIndex() == 0
                      ? "ACL bootstrap already done (reset index: " + std::to_string(reset) + ")"
                      : "Invalid bootstrap reset index (specified "
                            + std::to_string(command.getResetIndex())
                            + ", reset index: " + std::to_string(reset) + ")");
  if (const auto error = check_new_token(command.getToken())) return refuse(*error);
  Draft<schema::AclBootstrap> bootstrap;
  bootstrap->setCreateIndex(done ? done->getCreateIndex() : index_);
  bootstrap->setModifyIndex(index_);
  put<kind::AclBootstraps>(bootstrap.freeze());
  put_stamped<kind::AclTokens>({}, command.getToken());
}

/// Of one that is stored, what the proposer may not change is taken from there: he may have read it
/// before its secret was sealed anew.
void Applier::acl_token_upsert(schema::AclTokenUpsert::Reader command) {
  const auto wanted = command.getToken();
  if (command.getIsNew()) {
    if (const auto error = check_new_token(wanted)) return refuse(*error);
    return put_stamped<kind::AclTokens>({}, wanted);
  }
  const auto stored = found<kind::AclTokens>(view(wanted.getAccessorId()));
  if (!stored)
    return refuse(Errc::invalid_argument, "cannot find token " + copy(wanted.getAccessorId()));
  Draft<schema::AclToken> draft{wanted};
  draft->setGlobal(stored->getGlobal());
  draft->setCreateTime(stored->getCreateTime());
  draft->setExpirationTime(stored->getExpirationTime());
  draft->setExpirationTtl(stored->getExpirationTtl());
  draft->setSecretHash(stored->getSecretHash());
  draft->setKeyId(stored->getKeyId());
  draft->setSealed(stored->getSealed());
  put_stamped<kind::AclTokens>(stored, draft.reader());
}

void Applier::remove_acl_token(const Object<schema::AclToken>& token) {
  drop_one_time_tokens(view(token->getAccessorId()));
  replace<kind::AclTokens>(token, {});
}

void Applier::drop_one_time_tokens(std::string_view accessor) {
  const auto prefix = join_key(accessor, "");
  std::vector<std::string> keys;
  for (const auto& entry : t_.acl_one_time_tokens_by_accessor.prefix(prefix))
    keys.emplace_back(entry.key().substr(prefix.size()));
  for (const auto& key : keys)
    remove<kind::AclOneTimeTokens>(key);
}

void Applier::acl_token_delete(capnp::Text::Reader accessor) {
  const auto token = found<kind::AclTokens>(view(accessor));
  if (!token)
    return refuse(Errc::invalid_argument, "Cannot delete nonexistent tokens: " + copy(accessor));
  remove_acl_token(token);
}

void Applier::acl_one_time_token_exchange(schema::AclOneTimeTokenExchange::Reader command) {
  const auto one_time = found<kind::AclOneTimeTokens>(kind::bytes_of(command.getSecretHash()));
  if (!one_time || one_time->getAccessorId() != command.getAccessorId()
      || !t_.acl_tokens.contains(view(command.getAccessorId())))
    return refuse(Errc::permission_denied, "Permission denied");
  drop_one_time_tokens(view(command.getAccessorId()));
}

void Applier::acl_expire(schema::AclExpire::Reader command) {
  for (const auto& accessor :
       before(t_.acl_tokens_by_expiry, command.getTokensBefore(), command.getLimit()))
    remove_acl_token(found<kind::AclTokens>(accessor));
  for (const auto& hash : before(t_.acl_one_time_tokens_by_expiry, command.getOneTimeTokensBefore(),
                                 command.getLimit()))
    remove<kind::AclOneTimeTokens>(hash);
}

/// Rows whose secrets are the same as before, sealed by another root key.
template <class Kind>
void Applier::reseal(capnp::List<schema::AclReseal::Sealed>::Reader all) {
  for (const auto sealed : all) {
    const auto stored = found<Kind>(view(sealed.getName()));
    if (!stored || stored->getSealed() != sealed.getBefore()
        || !t_.root_keys.contains(view(sealed.getKeyId())))
      continue;
    Draft<typename Kind::Type> draft{stored};
    draft->setKeyId(sealed.getKeyId());
    draft->setSealed(sealed.getSealed());
    draft->setModifyIndex(index_);
    replace<Kind>(stored, draft.freeze());
  }
}

void Applier::acl_reseal(schema::AclReseal::Reader command) {
  reseal<kind::AclTokens>(command.getTokens());
  reseal<kind::AclAuthMethods>(command.getAuthMethods());
  reseal<kind::CsiVolumes>(command.getVolumes());
}

}  // namespace nomad::state
