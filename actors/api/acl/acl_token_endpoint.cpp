// /v1/acl/bootstrap, /v1/acl/tokens, …/token, …/token/<accessor>, …/token/self and
// …/token/onetime. A token's secret is shown where it is made, to its holder and to who manages;
// it is drawn and sealed here, and opened here when it is read. Tests: acl_test, acl_secrets_test,
// own_token_test.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <filesystem>

#include "actors/api/acl/acl_token.hpp"
#include "actors/api/http/secret_answer.hpp"
#include "runtime/access/secret_hash.hpp"
#include "runtime/base/files/bounded.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

namespace kind = state::kind;

/// The number that `file` begins with; 0 without one.
std::uint64_t reset_index_in(const std::string& file) {
  const auto content = read_whole_file(file, 1024).value_or("");
  const auto begin = content.find_first_not_of(" \t\r\n");
  std::uint64_t index = 0;
  if (begin != content.npos)
    std::from_chars(content.data() + begin, content.data() + content.size(), index);
  return index;
}

Result<SecretText> bootstrap_secret(const net::Request& request) {
  if (request.body.empty() && !is_chunked(request)) return SecretText{draw_uuid()};
  const auto memory = wiping_memory();
  const auto body
      = NOMAD_TRY(read_body(request, memory.get()).within("failed to decode request body"));
  BodyFields fields{body, "ACLTokenBootstrapRequest"};
  SecretText secret{fields.text("BootstrapSecret")};
  NOMAD_TRY(fields.check().within("failed to decode request body"));
  if (secret.empty()) return SecretText{draw_uuid()};
  if (!is_uuid(secret.reveal())) return bad_request("invalid acl token");
  return secret;
}

/// What it allowed is done: it must not allow the same to whoever comes after a snapshot from
/// before was restored.
void remove_reset_file(const std::string& file) {
  std::error_code failure;
  std::filesystem::remove(file, failure);
  if (failure)
    log::warn("acl", "cannot remove the file of a reset, which a bootstrap has used: remove it",
              {{"path", file}, {"error", failure.message()}});
}

Outcome bootstrap(Call& call, const AclParts& parts) {
  const auto secret = NOMAD_TRY(bootstrap_secret(call.request()));
  if (!call.context->state.store) return no_leader();
  const bool is_done(call.context->state.store->snapshot().rows<kind::AclBootstraps>());
  const auto& file = parts.options.reset_file;
  const auto reset = is_done && !file.empty() ? reset_index_in(file) : 0;
  return write_token(
      call, parts, secret,
      [reset](const state::Snapshot& state, const access::Asking& asking, const TokenRef& fresh) {
        return cluster::decide_bootstrap(state, asking, fresh, reset);
      },
      [file, reset, run = run_blocking(call.context)] {
        if (reset == 0) return;
        std::function<void()> job = [file] { remove_reset_file(file); };
        if (!run(job)) job();  // before somebody restores a snapshot
      });
}

/// What is no accessor or secret Nomad refuses with 500, unlike other ids.
Result<> or_unavailable(const Result<>& checked) {
  if (!checked) return Error{Errc::unavailable, checked.error().what};
  return {};
}

Outcome list_tokens(Call& call, const AclParts&) {
  const bool only_global = bool_parameter(call.request(), "global").value_or(false);
  return read_state(call, [only_global](const ReadOptions& options) -> Result<Read> {
    NOMAD_TRY(or_unavailable(check_id_prefix("acl token", options)));
    const auto filter = NOMAD_TRY(compile_filter(options));
    return Read{.watch = {state::watch_prefix(state::Table::acl_tokens, options.prefix)},
                .index = index_from_one<state::Table::acl_tokens>,
                .answer =
                    [options, filter, only_global](const View& snapshot) {
                      const auto keep = [&](const TokenRef& token) -> Result<bool> {
                        if (only_global && !token->getGlobal()) return false;
                        return keeps(filter, token);
                      };
                      const RoleName name_of
                          = [&](std::string_view id) { return snapshot.acl_role_name(id); };
                      const auto append = [&](std::string& out, const TokenRef& token) {
                        append_token_stub(out, *token, name_of);
                      };
                      const auto walk = walk_by_create(options);
                      if (!options.prefix.empty())
                        return list_page(snapshot, &state::Snapshot::rows<kind::AclTokens>, walk,
                                         options, keep, key_as_token, append);
                      return list_page(
                          snapshot, &state::Snapshot::acl_tokens_by_create_map, walk, options, keep,
                          [](std::string_view, const TokenRef& token) {
                            return query::CreateToken::make(token->getCreateIndex(),
                                                            view(token->getAccessorId()));
                          },
                          append);
                    },
                .is_heavy = is_long<&state::Snapshot::acl_tokens_by_create_map>};
  });
}

Answer show_token(const AclParts& parts, const View& snapshot, const TokenRef& token) {
  const auto secret = open_token(parts, snapshot.root_key(view(token->getKeyId())), *token);
  if (!secret) return Answer::error(secret.error().within("token error: decrypt"));
  return token_answer(
      *token, [&](std::string_view id) { return snapshot.acl_role_name(id); }, secret->text());
}

Outcome read_token(Call& call, const AclParts& parts) {
  if (call.rest.empty()) return bad_request("Missing Token Accessor");
  NOMAD_TRY(or_unavailable(check_id("acl token", call.rest)));
  return read_state(call, [accessor = call.rest, parts](const ReadOptions&) -> Result<Read> {
    return read_row<state::Table::acl_tokens>(
        accessor, "ACL token",
        [accessor](const View& snapshot) { return snapshot.row<kind::AclTokens>(accessor); },
        [parts](const View& snapshot, const TokenRef& token) {
          return show_token(parts, snapshot, token);
        });
  });
}

/// The secret that the caller shows.
Result<SecretText> shown_secret(const Call& call) {
  const auto& token = call.asking.who.caller().token;
  if (!token || token->secret.empty())
    return Error{Errc::unavailable, "acl token lookup failed: missing secret id"};
  NOMAD_TRY(or_unavailable(check_id("acl token", token->secret.reveal())));
  return token->secret;
}

/// Goes on with who shows that secret of a token.
Outcome after_token(Call& call, const SecretText& secret, std::function<Outcome(Call&)> then) {
  const auto& store = call.context->state.store;
  if (!store) return no_leader();
  const bool is_one{
      cluster::token_of_secret(store->snapshot(), access::secret_hash(secret.reveal()))};
  return after_secret(call, secret, is_one, std::move(then));
}

/// When a token ends by itself; the end of time if it does not, or is none. Nobody who waits for
/// news of it waits longer.
std::chrono::steady_clock::time_point end_of(const TokenRef& token) {
  using Clock = std::chrono::steady_clock;
  if (!token || token->getExpirationTime() == 0) return Clock::time_point::max();
  const auto left = token->getExpirationTime() - unix_now();
  constexpr std::int64_t far = std::int64_t{1} << 61;  // some 70 years: it can be added
  return left > far ? Clock::time_point::max()
                    : Clock::now() + std::chrono::nanoseconds{std::max<std::int64_t>(left, 0)};
}

Outcome read_token_of(Call& call, const SecretText& secret) {
  call.asking.who = access::Authenticator::with_token(call.asking.who, "");
  const auto hash = access::secret_hash(secret.reveal());
  const auto& store = call.context->state.store;
  const auto end = end_of(store ? cluster::token_of_secret(store->snapshot(), hash) : TokenRef{});
  return read_state(call, [secret, hash, end](const ReadOptions&) -> Result<Read> {
    auto read = read_row<state::Table::acl_tokens>(
        "", "ACL token",
        [hash](const View& snapshot) -> Result<TokenRef> { return snapshot.acl_token_of(hash); },
        [secret](const View& snapshot, const TokenRef& token) {
          return token_answer(
              *token, [&](std::string_view id) { return snapshot.acl_role_name(id); },
              secret.reveal());
        });
    read.watch = {state::watch_prefix(state::Table::acl_tokens, "")};
    read.is_over = [hash](const View& snapshot) { return !snapshot.acl_token_of(hash); };
    read.no_later_than = end;
    return read;
  });
}

/// The token that the caller shows. Whoever has its secret may see it, also when it has expired.
Outcome read_self(Call& call, const AclParts&) {
  const auto secret = NOMAD_TRY(shown_secret(call));
  return after_token(call, secret, [secret](Call& known) { return read_token_of(known, secret); });
}

/// Whether a token is of all regions: one that is stored says so itself. It is written in the
/// authoritative one then, which the call may have been passed on to.
bool belongs_to_all(const Call& call, schema::AclToken::Reader token) {
  const auto& store = call.context->state.store;
  const auto stored
      = store ? store->snapshot().row<kind::AclTokens>(view(token.getAccessorId())) : TokenRef{};
  return stored ? stored->getGlobal() : token.getGlobal();
}

Outcome put_token(Call& call, const AclParts& parts) {
  Draft<schema::AclToken> draft;
  NOMAD_TRY(read_draft(call, "ACL token", draft));
  if (draft.reader().hasSecretId()) take_secret(draft->getSecretId());
  draft->setSecretId("");
  const auto wanted = draft.freeze();
  if (!call.rest.empty() && view(wanted->getAccessorId()) != call.rest)
    return bad_request("ACL token accessor does not match request path");
  if (belongs_to_all(call, *wanted) && dispatch_to_authority(call)) return later;
  return write_token(
      call, parts, SecretText{draw_uuid()},
      [wanted, bounds = parts.options.bounds](const state::Snapshot& state,
                                              const access::Asking& asking, const TokenRef& fresh) {
        return cluster::decide_put_token(state, asking, wanted, fresh, bounds);
      });
}

Outcome put_named_token(Call& call, const AclParts& parts) {
  if (call.rest.empty()) return bad_request("Missing Token Accessor");
  return put_token(call, parts);
}

Outcome remove_token(Call& call, const AclParts&) {
  if (call.rest.empty()) return bad_request("Missing Token Accessor");
  if (const auto id = check_id("acl token", call.rest); !id)
    return bad_request("token lookup failed: " + id.error().what);
  Draft<schema::AclToken> named;
  named->setAccessorId(text(call.rest));
  if (belongs_to_all(call, named.reader()) && dispatch_to_authority(call)) return later;
  return write_acl(
      call,
      [accessor = call.rest](const state::Snapshot& state, const access::Asking& asking) {
        return cluster::decide_delete_token(state, asking, accessor);
      },
      show_nothing);
}

Outcome write_one_time_token(Call& call, const SecretText& secret) {
  const auto one_time = SecretText{draw_uuid()};
  return write_acl(
      call,
      [of = access::secret_hash(secret.reveal()), hash = access::secret_hash(one_time.reveal())](
          const state::Snapshot& state, const access::Asking& asking) {
        return cluster::decide_one_time_token(state, asking, of, hash, unix_now());
      },
      [one_time](const state::Snapshot& state, const WrittenAcl& done) {
        const auto row = state.row<kind::AclOneTimeTokens>(access::secret_hash(one_time.reveal()));
        if (!row) return Answer::error(access::permission_denied());
        std::string out;
        out.reserve(512);
        {
          JsonObject object{out};
          object.number("Index", done.index);
          JsonObject shown{object.raw("OneTimeToken")};
          shown.text("OneTimeSecretID", one_time.reveal()).members(*row);
        }
        return secret_answer(net::status::ok, std::move(out));
      });
}

/// The token's own secret is the right to it.
Outcome make_one_time_token(Call& call, const AclParts&) {
  const auto secret = NOMAD_TRY(shown_secret(call));
  return after_token(call, secret,
                     [secret](Call& known) { return write_one_time_token(known, secret); });
}

/// Whether the secret of the one-time token's token opens: a try that could not show it does not
/// use the one-time token up. Without one there is nothing to open.
Result<> check_exchange(const AclParts& parts,
                        const state::Snapshot& state,
                        const Object<schema::AclOneTimeToken>& one_time) {
  if (!one_time) return {};
  const auto token = state.row<kind::AclTokens>(view(one_time->getAccessorId()));
  if (!token) return {};
  const auto opened = open_token(parts, state.root_key(view(token->getKeyId())), *token);
  if (!opened) return opened.error().within("token error: decrypt");
  return {};
}

Outcome write_exchange(Call& call, const AclParts& parts, const SecretText& secret) {
  return write_acl(
      call,
      [hash = access::secret_hash(secret.reveal())](const state::Snapshot& state,
                                                    const access::Asking& asking) {
        return cluster::decide_exchange(state, asking, hash, unix_now());
      },
      [parts](const state::Snapshot& state, const WrittenAcl& done) {
        const auto row = state.row<kind::AclTokens>(done.decision.id);
        if (!row) return Answer::error(access::permission_denied());
        const auto secret = open_token(parts, state.root_key(view(row->getKeyId())), *row);
        if (!secret) return Answer::error(secret.error().within("token error: decrypt"));
        auto out = room_for(*row);
        {
          JsonObject object{out};
          object.number("Index", done.index);
          append_token(object.raw("Token"), *row, role_names(state), secret->text());
        }
        return secret_answer(net::status::ok, std::move(out));
      });
}

Outcome exchange_one_time_token(Call& call, const AclParts& parts) {
  const auto memory = wiping_memory();
  const auto body = NOMAD_TRY(read_body(call.request(), memory.get()));
  BodyFields fields{body, "OneTimeTokenExchangeRequest"};
  const SecretText secret{fields.text("OneTimeSecretID")};
  NOMAD_TRY(fields.check());
  const auto& store = call.context->state.store;
  if (!store) return no_leader();
  const auto state = store->snapshot();
  const auto one_time = state.row<kind::AclOneTimeTokens>(access::secret_hash(secret.reveal()));
  NOMAD_TRY(check_exchange(parts, state, one_time));
  const bool is_one{one_time};
  return after_secret(call, secret, is_one, [parts, secret](Call& known) {
    return write_exchange(known, parts, secret);
  });
}

}  // namespace

void add_acl_token_routes(Routes& routes, AclParts parts) {
  constexpr auto manage = Capability::management;
  const auto with = routes.with(std::move(parts));
  routes.exact("/v1/acl/bootstrap",
               {{Methods::write, Capability::none, with(if_enabled<bootstrap>), Where::authority}});
  routes.exact("/v1/acl/tokens", {{Methods::get, manage, with(if_enabled<list_tokens>)}});
  routes.exact("/v1/acl/token", {{Methods::write, manage, with(if_enabled<put_token>)}});
  routes.exact("/v1/acl/token/self",
               {{Methods::get, Capability::none, with(if_enabled<read_self>)}});
  routes.exact("/v1/acl/token/onetime",
               {{Methods::write, Capability::none, with(if_enabled<make_one_time_token>)}});
  routes.exact("/v1/acl/token/onetime/exchange",
               {{Methods::write, Capability::none, with(if_enabled<exchange_one_time_token>)}});
  routes.below("/v1/acl/token/", {{"",
                                   {{Methods::get, Capability::none, with(if_enabled<read_token>)},
                                    {Methods::write, manage, with(if_enabled<put_named_token>)},
                                    {Methods::remove, manage, with(if_enabled<remove_token>)}}}});
}

}  // namespace nomad::api
