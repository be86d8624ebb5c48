#include "runtime/security/keyring.hpp"

#include <algorithm>

#include <sodium.h>

#include "runtime/keyring/wrap_plan.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/security/key_files.hpp"
#include "runtime/security/unopened_keys.hpp"

namespace nomad::security {
namespace {

/// Who holds a configured secret; alone, the name of wraps made before names had fingerprints.
constexpr std::string_view secret_holders = "encrypt";

/// Keys that were made and not used yet. Each is there for a moment, unless its row is refused.
constexpr std::size_t most_fresh_keys = 4;

/// What a wrapping key is tried with that has wrapped no root key.
constexpr std::string_view trial = "trial of a wrapping key";

std::string first_digits(const unsigned char* bytes, std::size_t size) {
  char digits[2 * 8 + 1] = {};
  sodium_bin2hex(digits, sizeof digits, bytes, std::min<std::size_t>(size, 8));
  return digits;
}

/// A server that lost its key file and made another is another recipient.
std::string recipient_of(schema::KeyHolder::Reader holder) {
  const auto key = holder.getPublicKey();
  return copy(holder.getId()) + ' ' + first_digits(key.begin(), key.size());
}

/// So is who has another secret. The fingerprint is a keyed hash cut to eight bytes: it tells two
/// secrets apart, and nothing about either.
std::string secret_recipient(const Secret& cluster_key) {
  const auto print = derive_key(cluster_key.bytes(), "nomadctl fingerprint of server.encrypt");
  return std::string{secret_holders} + ' '
         + first_digits(reinterpret_cast<const unsigned char*>(print.bytes().data()), print.size());
}

std::string wrap_location(std::string_view key_id) {
  return "root key\n" + std::string{key_id};
}

std::string join_location(std::string_view kind, std::initializer_list<std::string_view> parts) {
  std::string location{kind};
  for (const auto part : parts) {
    location += '\0';
    location += part;
  }
  return location;
}

std::string variable_location(std::string_view ns, std::string_view path, std::string_view key_id) {
  return join_location("variable", {ns, path, key_id});
}

std::span<const std::byte> span_of(capnp::Data::Reader data) {
  return {reinterpret_cast<const std::byte*>(data.begin()), data.size()};
}

capnp::Data::Reader data_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

/// The key for wrapping that all who know the configured secret share.
Result<Secret> cluster_key(const std::string& base64) {
  Secret decoded{key_bytes};
  std::size_t length = 0;
  const int failed = sodium_base642bin(reinterpret_cast<unsigned char*>(decoded.bytes().data()),
                                       decoded.size(), base64.data(), base64.size(), nullptr,
                                       &length, nullptr, sodium_base64_VARIANT_ORIGINAL);
  if (failed != 0 || (length != 16 && length != 24 && length != 32))
    return Error{Errc::invalid_argument,
                 "server.encrypt: expected base64 of 16, 24 or 32 bytes, as "
                 "\"nomadctl operator gossip keyring generate\" makes it"};
  return derive_key(decoded.bytes().first(length), "nomadctl root keys");
}

/// What is inside a wrap: the key, then its id.
Secret wrapped_content(const Secret& root_key, std::string_view key_id) {
  Secret content{root_key.size() + key_id.size()};
  const auto id = std::as_bytes(std::span{key_id});
  const auto end
      = std::copy(root_key.bytes().begin(), root_key.bytes().end(), content.bytes().begin());
  std::copy(id.begin(), id.end(), end);
  return content;
}

Result<Secret> root_key_in(const Secret& content, std::string_view key_id) {
  if (content.size() != key_bytes + key_id.size() || content.text().substr(key_bytes) != key_id)
    return Error{Errc::corrupt, "the wrap is of another key"};
  return Secret::copy_of(content.bytes().first(key_bytes));
}

template <class Wrap>
Object<schema::RootKey> with_wraps(schema::RootKey::Reader key, const std::vector<Wrap>& wraps) {
  Draft<schema::RootKey> draft{key};
  auto list = draft->initWraps(static_cast<unsigned>(wraps.size()));
  for (unsigned i = 0; i < list.size(); ++i) {
    list[i].setRecipient(text(wraps[i].recipient));
    list[i].setSealed(data_of(wraps[i].sealed));
  }
  return draft.freeze();
}

/// Of the wrap that the row has for the recipient; empty without one.
std::optional<Bytes> sealed_for(schema::RootKey::Reader key, std::string_view recipient) {
  for (const auto wrap : key.getWraps()) {
    const auto sealed = span_of(wrap.getSealed());
    if (view(wrap.getRecipient()) == recipient) return Bytes{sealed.begin(), sealed.end()};
  }
  return std::nullopt;
}

/// Whether the server says that it can use the wrapping key of that name.
bool can_use(schema::KeyHolder::Reader holder, std::string_view name) {
  for (const auto one : holder.getOpens())
    if (view(one) == name) return true;
  return false;
}

/// Wraps, and has it unwrapped: nobody is to rely on a wrap that may never open.
void wrap_and_try(const std::shared_ptr<WrappingKey>& by,
                  const std::string& location,
                  const std::shared_ptr<const Secret>& content,
                  WrappingKey::Wrapped done) {
  by->wrap(
      location, *content,
      [weak = std::weak_ptr{by}, location, content, done = std::move(done)](Result<Bytes> made) {
        const auto key = weak.lock();
        if (!made || !key) return done(std::move(made));
        const auto sealed = std::make_shared<Bytes>(std::move(*made));
        key->unwrap(location, *sealed, [content, sealed, done](Result<Secret> again) {
          if (!again) return done(again.error().within("unwrapping what it has wrapped"));
          if (!again->equals(*content))
            return done(Error{Errc::corrupt, "what it has wrapped unwraps to something else"});
          done(std::move(*sealed));
        });
      });
}

}  // namespace

Result<std::shared_ptr<Keyring>> Keyring::open(KeyringOptions options) {
  if (sodium_init() < 0) return Error{Errc::internal, "libsodium cannot be initialized"};
  std::shared_ptr<Keyring> keyring{new Keyring{std::move(options)}};
  const auto& given = keyring->options_;
  if (given.directory.empty()) {
    keyring->pairs_.push_back(make_key_pair(given.random));
  } else {
    keyring->pairs_ = NOMAD_TRY(load_key_pairs(given.directory, given.random).within("keyring"));
  }
  if (!given.cluster_secret.empty()) {
    keyring->cluster_key_ = NOMAD_TRY(cluster_key(given.cluster_secret));
    keyring->cluster_recipient_ = secret_recipient(keyring->cluster_key_);
    wipe(keyring->options_.cluster_secret);
  }
  return keyring;
}

Object<schema::KeyHolder> Keyring::holder(const Object<schema::KeyHolder>& known) const {
  Draft<schema::KeyHolder> draft;
  draft->setId(text(options_.server_id));
  draft->setPublicKey(data_of(pairs_.front().public_key));
  std::vector<std::string> names;
  {
    const std::lock_guard lock{guard_};
    for (const auto& key : wrapping_keys())
      if (key->is_local() || attempts_.is_proven(key->name())
          || (known && can_use(*known, key->name())))
        names.push_back(key->name());
  }
  if (names.empty()) return draft.freeze();
  auto opens = draft->initOpens(static_cast<unsigned>(names.size()));
  for (unsigned i = 0; i < opens.size(); ++i)
    opens.set(i, text(names[i]));
  return draft.freeze();
}

Result<Bytes> Keyring::wrap_root_key(std::string_view recipient,
                                     std::span<const std::byte> public_key,
                                     std::string_view key_id,
                                     const Secret& root_key) {
  const auto content = wrapped_content(root_key, key_id);
  if (recipient == cluster_recipient_)
    return seal(cluster_key_, wrap_location(key_id), content.bytes(), options_.random);
  return wrap_for(public_key, content.bytes(), options_.random);
}

Keyring::Begun Keyring::begin_root_key(std::string_view id,
                                       std::int64_t now,
                                       const Holders& holders,
                                       std::int64_t publish_time) {
  Secret root_key{key_bytes};
  options_.random(root_key.bytes());
  Draft<schema::RootKey> draft;
  draft->setKeyId(text(std::string{id}));
  draft->setAlgorithm(text(algorithm));
  draft->setCreateTime(now);
  draft->setPublishTime(publish_time);
  draft->setState(publish_time == 0 ? schema::RootKeyState::ACTIVE
                                    : schema::RootKeyState::PREPUBLISHED);
  Begun begun{draft.freeze(), std::make_shared<Secret>(std::move(root_key)), holders};
  const auto own = holder();
  if (std::none_of(holders.begin(), holders.end(),
                   [&](const auto& one) { return view(one->getId()) == view(own->getId()); }))
    begun.holders.push_back(own);
  return begun;
}

Object<schema::RootKey> Keyring::make_root_key(std::string_view id,
                                               std::int64_t now,
                                               const Holders& holders,
                                               std::int64_t publish_time) {
  const auto begun = begin_root_key(id, now, holders, publish_time);
  keep_fresh(id, begun.root_key);
  return rewrapped(begun.row, *begun.root_key, begun.holders, OtherSecrets::drop, {});
}

void Keyring::make_root_key(std::string_view id,
                            std::int64_t now,
                            const Holders& holders,
                            std::int64_t publish_time,
                            Row done) {
  if (!options_.wrapping.active) return done(make_root_key(id, now, holders, publish_time));
  const auto begun = begin_root_key(id, now, holders, publish_time);
  wrap_elsewhere(begun, OtherSecrets::drop,
                 [weak = weak_from_this(), id = std::string{id}, root_key = begun.root_key,
                  done = std::move(done)](Result<Object<schema::RootKey>> row) {
                   const auto keyring = weak.lock();
                   if (row && keyring) keyring->keep_fresh(id, root_key);
                   done(std::move(row));
                 });
}

void Keyring::keep_fresh(std::string_view id, std::shared_ptr<const Secret> root_key) {
  const std::lock_guard lock{guard_};
  fresh_.emplace_front(std::string{id}, std::move(root_key));
  if (fresh_.size() > most_fresh_keys) fresh_.pop_back();
}

std::shared_ptr<const Secret> Keyring::keep(std::string_view id, Secret root_key) {
  std::shared_ptr<const Secret> shared = std::make_shared<Secret>(std::move(root_key));
  const std::lock_guard lock{guard_};
  attempts_.opened(id);
  return opened_.emplace(std::string{id}, std::move(shared)).first->second;
}

std::vector<std::shared_ptr<WrappingKey>> Keyring::wrapping_keys() const {
  auto keys = options_.wrapping.others;
  if (options_.wrapping.active) keys.insert(keys.begin(), options_.wrapping.active);
  return keys;
}

/// Of the wraps that a wrapping key of this server may unwrap. Those come first that answer at
/// once.
std::vector<Keyring::Unwrapping> Keyring::unwrappings(schema::RootKey::Reader key) const {
  std::vector<Unwrapping> all;
  for (const auto wrap : key.getWraps()) {
    if (!keyring::is_of_wrapping_key(view(wrap.getRecipient()))) continue;
    for (const auto& by : wrapping_keys())
      if (by->may_unwrap(view(wrap.getRecipient())))
        all.push_back({by, copy(wrap.getRecipient()), span_of(wrap.getSealed())});
  }
  std::stable_partition(all.begin(), all.end(), [](const auto& one) { return one.by->is_local(); });
  return all;
}

Result<Secret> Keyring::unwrap_root_key(schema::RootKey::Reader key) const {
  const auto id = view(key.getKeyId());
  for (const auto wrap : key.getWraps()) {
    const auto sealed = span_of(wrap.getSealed());
    if (keyring::is_of_wrapping_key(view(wrap.getRecipient()))) continue;
    if (keyring::is_of_secret(view(wrap.getRecipient()))) {
      if (auto content = unseal(cluster_key_, wrap_location(id), sealed))
        return root_key_in(*content, id);
      continue;
    }
    for (const auto& pair : pairs_)
      if (auto content = unwrap(pair, sealed)) return root_key_in(*content, id);
  }
  return Error{Errc::corrupt, "root key " + std::string{id} + " is not wrapped for this server: "
                                  + std::string{how_to_open_keys}};
}

Result<std::shared_ptr<const Secret>> Keyring::material(const Object<schema::RootKey>& key) {
  if (!key) return Error{Errc::corrupt, "the root key is not in the keyring"};
  const auto id = view(key->getKeyId());
  {
    const std::lock_guard lock{guard_};
    if (const auto known = opened_.find(id); known != opened_.end()) return known->second;
    const auto fresh = std::find_if(fresh_.begin(), fresh_.end(),
                                    [id](const auto& one) { return one.first == id; });
    if (fresh != fresh_.end()) {  // its row is in use
      const auto kept = opened_.emplace(*fresh).first->second;
      fresh_.erase(fresh);
      return kept;
    }
  }
  auto opened = unwrap_root_key(*key);
  if (opened) return keep(id, std::move(*opened));
  return unwrap_elsewhere(key);
}

bool Keyring::begin_attempt(const AttemptName& name, bool is_local) {
  const auto now = options_.clock ? std::optional{Nanoseconds{options_.clock()}} : std::nullopt;
  const std::lock_guard lock{guard_};
  return attempts_.begin(name, is_local, now);
}

void Keyring::fail_attempt(const AttemptName& name, Error failure) {
  const Nanoseconds now{options_.clock ? options_.clock() : 0};
  const std::lock_guard lock{guard_};
  attempts_.failed(name, std::move(failure), now);
}

/// Asks a wrapping key to open a root key, unless it is being asked or has failed just now.
void Keyring::ask(const Unwrapping& one, const std::string& id) {
  const AttemptName name{id, one.recipient};
  if (!begin_attempt(name, one.by->is_local())) return;
  one.by->unwrap(wrap_location(id), one.sealed,
                 [weak = weak_from_this(), name, by = one.by->name()](Result<Secret> content) {
                   const auto keyring = weak.lock();
                   if (!keyring) return;
                   auto root_key = content ? root_key_in(*content, name.first)
                                           : Result<Secret>{content.error()};
                   if (!root_key) return keyring->fail_attempt(name, root_key.error());
                   keyring->prove(by);
                   keyring->keep(name.first, std::move(*root_key));
                 });
}

/// By the wrapping keys of this server, one after the other; who asks again has what came later.
Result<std::shared_ptr<const Secret>> Keyring::unwrap_elsewhere(
    const Object<schema::RootKey>& key) {
  const auto id = copy(key->getKeyId());
  std::optional<Error> failed;
  for (const auto& one : unwrappings(*key)) {
    const AttemptName name{id, one.recipient};
    const auto before = last_failure(name);
    ask(one, id);
    const std::lock_guard lock{guard_};
    if (const auto known = opened_.find(id); known != opened_.end()) return known->second;
    const auto failure = attempts_.last_failure(name);
    if (attempts_.is_under_way(name) || !failure)
      return Error{Errc::unavailable, "root key " + id + " is being opened by \"" + one.by->name()
                                          + "\": try again"
                                          + (before ? " (last: " + before->what + ")" : "")};
    if (!failed || failed->code == Errc::corrupt)  // what may pass counts
      failed = failure->within("opening root key " + id + " by \"" + one.by->name() + "\"");
  }
  if (failed) return *failed;
  return Error{Errc::corrupt, "root key " + id + " is not wrapped for this server: "
                                  + std::string{how_to_open_keys}};
}

std::optional<Error> Keyring::last_failure(const AttemptName& name) const {
  const std::lock_guard lock{guard_};
  return attempts_.last_failure(name);
}

void Keyring::prove(const std::string& name) {
  const std::lock_guard lock{guard_};
  attempts_.prove(name);
}

/// By a wrap of it, or, of the active one, by one of nothing.
void Keyring::try_key(const std::shared_ptr<WrappingKey>& by, const Rows& keys) {
  for (const auto& key : keys)
    for (const auto& one : unwrappings(*key))
      if (one.by == by && one.recipient == by->name()) return ask(one, copy(key->getKeyId()));
  const AttemptName name{"", by->name()};
  if (by != options_.wrapping.active || !begin_attempt(name, false)) return;
  Secret content{key_bytes};
  options_.random(content.bytes());
  wrap_and_try(by, std::string{trial}, std::make_shared<Secret>(std::move(content)),
               [weak = weak_from_this(), name](const Result<Bytes>& wrapped) {
                 const auto keyring = weak.lock();
                 if (!keyring) return;
                 if (!wrapped) return keyring->fail_attempt(name, wrapped.error());
                 keyring->prove(name.second);
                 const std::lock_guard lock{keyring->guard_};
                 keyring->attempts_.tried(name);
               });
}

bool Keyring::try_wrapping_keys(const Rows& keys, const Object<schema::KeyHolder>& known) {
  const auto own = holder(known);
  for (const auto& by : wrapping_keys())
    if (!can_use(*own, by->name())) try_key(by, keys);
  const std::lock_guard lock{guard_};
  return !attempts_.is_any_under_way();
}

Opening Keyring::opening(const Object<schema::RootKey>& key) {
  if (!key) return Opening::no;
  if (unwrap_root_key(*key)) return Opening::yes;
  if (!opens(key)) return Opening::no;
  const auto opened = material(key);
  if (opened) return Opening::yes;
  return opened.error().code == Errc::corrupt ? Opening::no : Opening::not_yet;
}

bool Keyring::opens(const Object<schema::RootKey>& key) const {
  if (!key) return false;
  if (unwrap_root_key(*key)) return true;
  return !unwrappings(*key).empty();
}

Object<schema::RootKey> Keyring::rewrap(const Object<schema::RootKey>& key,
                                        const Holders& holders,
                                        OtherSecrets others) {
  const auto root_key = material(key);
  if (!root_key) return {};
  return rewrapped(key, **root_key, holders, others, {});
}

bool Keyring::lacks_wrap(const Object<schema::RootKey>& key) const {
  const auto& by = options_.wrapping.active;
  if (!by) return false;
  for (const auto wrap : key->getWraps())
    if (view(wrap.getRecipient()) == by->name()) return false;
  return true;
}

void Keyring::rewrap(const Object<schema::RootKey>& key,
                     const Holders& holders,
                     OtherSecrets others,
                     Row done) {
  const auto root_key = material(key);
  if (!root_key) return done(Object<schema::RootKey>{});
  if (others == OtherSecrets::keep || !lacks_wrap(key))
    return done(rewrapped(key, **root_key, holders, others, {}));
  wrap_elsewhere({key, *root_key, holders}, others, std::move(done));
}

void Keyring::wrap_elsewhere(const Begun& begun, OtherSecrets others, Row done) {
  const auto& by = options_.wrapping.active;
  const auto id = copy(begun.row->getKeyId());
  wrap_and_try(
      by, wrap_location(id), std::make_shared<Secret>(wrapped_content(*begun.root_key, id)),
      [weak = weak_from_this(), begun, others, name = by->name(),
       done = std::move(done)](Result<Bytes> sealed) {
        const auto keyring = weak.lock();
        if (!keyring) return;  // with whoever waited
        if (!sealed) return done(sealed.error().within("wrapping a root key by \"" + name + "\""));
        keyring->prove(name);
        auto holders = begun.holders;
        for (auto& one : holders)  // this server can use the key for certain now
          if (view(one->getId()) == keyring->options_.server_id) one = keyring->holder(one);
        done(keyring->rewrapped(begun.row, *begun.root_key, holders, others, std::move(*sealed)));
      });
}

/// What the row has, what this server could add to it, and for whom.
keyring::WrapFacts Keyring::wrap_facts(schema::RootKey::Reader key,
                                       const Holders& holders,
                                       OtherSecrets others,
                                       bool has_wrapped) const {
  keyring::WrapFacts facts{.secret = cluster_recipient_,
                           .has_wrapped = has_wrapped,
                           .leads = others == OtherSecrets::drop};
  if (options_.wrapping.active) facts.wrapping_key = options_.wrapping.active->name();
  for (const auto wrap : key.getWraps())
    facts.row.push_back(copy(wrap.getRecipient()));
  for (const auto& each : holders) {
    keyring::Holder holder{.recipient = recipient_of(*each)};
    for (const auto name : each->getOpens())
      holder.opens.push_back(copy(name));
    facts.holders.push_back(std::move(holder));
  }
  return facts;
}

bool Keyring::lacks_wraps(const Object<schema::RootKey>& key,
                          const Holders& holders,
                          OtherSecrets others) const {
  return keyring::plan_wraps(wrap_facts(*key, holders, others, false)).changes;
}

Object<schema::RootKey> Keyring::rewrapped(const Object<schema::RootKey>& key,
                                           const Secret& root_key,
                                           const Holders& holders,
                                           OtherSecrets others,
                                           std::optional<Bytes> made) {
  using From = keyring::PlannedWrap::From;
  const auto plan = keyring::plan_wraps(wrap_facts(*key, holders, others, made.has_value()));
  if (!plan.changes) return {};
  // Empty for a holder without a sound public key: nobody can wrap for it.
  const auto wrap_now = [&](const std::string& recipient,
                            std::span<const std::byte> public_key) -> std::optional<Bytes> {
    auto sealed = wrap_root_key(recipient, public_key, view(key->getKeyId()), root_key);
    return sealed ? std::optional{std::move(*sealed)} : std::nullopt;
  };
  std::vector<Wrap> wraps;
  bool has_new = false;
  for (const auto& [recipient, from, holder] : plan.wraps) {
    auto sealed = from == From::row            ? sealed_for(*key, recipient)
                  : from == From::wrapping_key ? std::move(made)
                  : from == From::secret
                      ? wrap_now(recipient, {})
                      : wrap_now(recipient, span_of(holders[holder]->getPublicKey()));
    if (!sealed) continue;
    has_new = has_new || from != From::row;
    wraps.push_back({recipient, std::move(*sealed)});
  }
  if (!has_new && wraps.size() == key->getWraps().size()) return {};
  return with_wraps(*key, wraps);
}

Result<Object<schema::Variable>> Keyring::seal_variable(const Object<schema::RootKey>& key,
                                                        std::string_view ns,
                                                        std::string_view path,
                                                        const Secret& encoded_items,
                                                        std::int64_t now) {
  const auto root_key = NOMAD_TRY(material(key));
  const auto id = view(key->getKeyId());
  const auto sealed
      = seal(*root_key, variable_location(ns, path, id), encoded_items.bytes(), options_.random);
  Draft<schema::Variable> draft;
  draft->setNamespace(text(std::string{ns}));
  draft->setPath(text(std::string{path}));
  draft->setCreateTime(now);
  draft->setModifyTime(now);
  draft->setKeyId(key->getKeyId());
  draft->setData(data_of(sealed));
  return draft.freeze();
}

Result<Secret> Keyring::open_variable(const Object<schema::RootKey>& key,
                                      const Object<schema::Variable>& variable) {
  if (!key)
    return Error{Errc::corrupt, "root key " + copy(variable->getKeyId())
                                    + ", which has sealed it, has been removed: delete the "
                                      "variable, or put it anew"};
  const auto root_key = NOMAD_TRY(material(key));
  return unseal(*root_key,
                variable_location(view(variable->getNamespace()), view(variable->getPath()),
                                  view(variable->getKeyId())),
                span_of(variable->getData()));
}

Result<Bytes> Keyring::seal_secret(const Object<schema::RootKey>& key,
                                   const SecretLocation& location,
                                   std::string_view secret) {
  const auto root_key = NOMAD_TRY(material(key));
  return seal(*root_key, join_location(location.kind, {location.name, view(key->getKeyId())}),
              std::as_bytes(std::span{secret}), options_.random);
}

Result<Secret> Keyring::open_secret(const Object<schema::RootKey>& key,
                                    const SecretLocation& location,
                                    capnp::Data::Reader sealed) {
  const auto root_key = NOMAD_TRY(material(key));
  return unseal(*root_key, join_location(location.kind, {location.name, view(key->getKeyId())}),
                span_of(sealed));
}

Result<Secret> Keyring::derive(const Object<schema::RootKey>& key, std::string_view purpose) {
  const auto root_key = NOMAD_TRY(material(key));
  return derive_key(root_key->bytes(), purpose);
}

}  // namespace nomad::security
