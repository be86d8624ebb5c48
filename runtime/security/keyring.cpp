#include "runtime/security/keyring.hpp"

#include <algorithm>
#include <iterator>

#include <sodium.h>

#include "runtime/object/draft.hpp"
#include "runtime/security/key_files.hpp"
#include "runtime/security/unopened_keys.hpp"

namespace nomad::security {
namespace {

/// Who holds a configured secret; alone, the name of wraps made before names had fingerprints.
constexpr std::string_view secret_holders = "encrypt";

bool is_of_secret(std::string_view recipient) {
  return recipient.substr(0, recipient.find(' ')) == secret_holders;
}

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

std::string wrap_place(std::string_view key_id) {
  return "root key\n" + std::string{key_id};
}

std::string join_place(std::string_view kind, std::initializer_list<std::string_view> parts) {
  std::string place{kind};
  for (const auto part : parts) {
    place += '\0';
    place += part;
  }
  return place;
}

std::string variable_place(std::string_view ns, std::string_view path, std::string_view key_id) {
  return join_place("variable", {ns, path, key_id});
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

/// Whether the server says that it can use the wrapping key of that name.
bool can_use(schema::KeyHolder::Reader holder, std::string_view name) {
  for (const auto one : holder.getOpens())
    if (view(one) == name) return true;
  return false;
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

Object<schema::KeyHolder> Keyring::holder() const {
  Draft<schema::KeyHolder> draft;
  draft->setId(text(options_.server_id));
  draft->setPublicKey(data_of(pairs_.front().public_key));
  std::vector<std::string> names;
  if (options_.wrapping.active) names.push_back(options_.wrapping.active->name());
  for (const auto& other : options_.wrapping.others)
    names.push_back(other->name());
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
    return seal(cluster_key_, wrap_place(key_id), content.bytes(), options_.random);
  return wrap_for(public_key, content.bytes(), options_.random);
}

Object<schema::RootKey> Keyring::begin_root_key(std::string_view id,
                                                std::int64_t now,
                                                const Holders& holders,
                                                std::int64_t publish_time,
                                                Holders& all) {
  Secret root_key{key_bytes};
  options_.random(root_key.bytes());
  keep(id, std::move(root_key));
  Draft<schema::RootKey> draft;
  draft->setKeyId(text(std::string{id}));
  draft->setAlgorithm(text(algorithm));
  draft->setCreateTime(now);
  draft->setPublishTime(publish_time);
  draft->setState(publish_time == 0 ? schema::RootKeyState::ACTIVE
                                    : schema::RootKeyState::PREPUBLISHED);
  all = holders;
  const auto own = holder();
  if (std::none_of(all.begin(), all.end(),
                   [&](const auto& one) { return view(one->getId()) == view(own->getId()); }))
    all.push_back(own);
  return draft.freeze();
}

Object<schema::RootKey> Keyring::make_root_key(std::string_view id,
                                               std::int64_t now,
                                               const Holders& holders,
                                               std::int64_t publish_time) {
  Holders all;
  const auto bare = begin_root_key(id, now, holders, publish_time, all);
  return rewrap(bare, all, OtherSecrets::drop);
}

void Keyring::make_root_key(std::string_view id,
                            std::int64_t now,
                            const Holders& holders,
                            std::int64_t publish_time,
                            Row done) {
  Holders all;
  const auto bare = begin_root_key(id, now, holders, publish_time, all);
  rewrap(bare, all, OtherSecrets::drop, std::move(done));
}

std::shared_ptr<const Secret> Keyring::keep(std::string_view id, Secret root_key) {
  std::shared_ptr<const Secret> shared = std::make_shared<Secret>(std::move(root_key));
  const std::lock_guard lock{guard_};
  asked_.erase(std::string{id});
  failed_.erase(std::string{id});
  return opened_.emplace(std::string{id}, std::move(shared)).first->second;
}

std::shared_ptr<WrappingKey> Keyring::wrapping_key(std::string_view name) const {
  const auto& keys = options_.wrapping;
  if (keys.active && keys.active->name() == name) return keys.active;
  for (const auto& other : keys.others)
    if (other->name() == name) return other;
  return nullptr;
}

Result<Secret> Keyring::unwrap_root_key(schema::RootKey::Reader key) const {
  const auto id = view(key.getKeyId());
  for (const auto wrap : key.getWraps()) {
    const auto sealed = span_of(wrap.getSealed());
    if (is_of_wrapping_key(view(wrap.getRecipient()))) continue;
    if (is_of_secret(view(wrap.getRecipient()))) {
      if (auto content = unseal(cluster_key_, wrap_place(id), sealed))
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
  }
  auto opened = unwrap_root_key(*key);
  if (opened) return keep(id, std::move(*opened));
  return unwrap_elsewhere(key);
}

/// By the wrapping keys of this server. Of one that answers later the key is there for who asks
/// again.
Result<std::shared_ptr<const Secret>> Keyring::unwrap_elsewhere(
    const Object<schema::RootKey>& key) {
  const auto id = copy(key->getKeyId());
  std::optional<Error> failed;
  for (const auto wrap : key->getWraps()) {
    const auto by = wrapping_key(view(wrap.getRecipient()));
    if (!by) continue;
    Error waits{Errc::unavailable,
                "root key " + id + " is being opened by \"" + by->name() + "\": try again"};
    {
      const std::lock_guard lock{guard_};
      if (const auto last = failed_.find(id); last != failed_.end())
        waits.what += " (last: " + last->second + ")";
      if (!asked_.insert(id).second) return waits;
    }
    // Shared with the answer, which may come when nobody waits for it any more.
    const auto said = std::make_shared<std::optional<Error>>();
    by->unwrap(wrap_place(id), span_of(wrap.getSealed()),
               [weak = weak_from_this(), id, said, name = by->name()](Result<Secret> content) {
                 const auto keyring = weak.lock();
                 if (!keyring) return;
                 auto root_key
                     = content ? root_key_in(*content, id) : Result<Secret>{content.error()};
                 if (root_key) {
                   keyring->keep(id, std::move(*root_key));
                   return;
                 }
                 const std::lock_guard lock{keyring->guard_};
                 keyring->asked_.erase(id);
                 keyring->failed_.insert_or_assign(id, root_key.error().what);
                 *said = root_key.error().within("opening root key " + id + " by \"" + name + "\"");
               });
    const std::lock_guard lock{guard_};
    if (const auto known = opened_.find(id); known != opened_.end()) return known->second;
    if (!*said) return waits;
    failed = *said;
  }
  if (failed) return *failed;
  return Error{Errc::corrupt, "root key " + id + " is not wrapped for this server: "
                                  + std::string{how_to_open_keys}};
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
  for (const auto wrap : key->getWraps())
    if (wrapping_key(view(wrap.getRecipient()))) return true;
  return false;
}

Object<schema::RootKey> Keyring::rewrap(const Object<schema::RootKey>& key,
                                        const Holders& holders,
                                        OtherSecrets others) {
  return rewrapped(key, holders, others, {});
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
  const auto& by = options_.wrapping.active;
  const auto root_key = material(key);
  if (others == OtherSecrets::keep || !root_key || !lacks_wrap(key))
    return done(rewrapped(key, holders, others, {}));
  const auto id = copy(key->getKeyId());
  by->wrap(wrap_place(id), wrapped_content(**root_key, id),
           [weak = weak_from_this(), key, holders, others, name = by->name(),
            done = std::move(done)](Result<Bytes> sealed) {
             const auto keyring = weak.lock();
             if (!keyring) return;  // with whoever waited
             if (!sealed)
               return done(sealed.error().within("wrapping a root key by \"" + name + "\""));
             done(keyring->rewrapped(key, holders, others, Wrap{name, std::move(*sealed)}));
           });
}

/// Those of wrapping keys that a row is to have: of the active one, and of others while a server
/// can use one of them and not that.
std::vector<Keyring::Wrap> Keyring::external_wraps(schema::RootKey::Reader key,
                                                   const Holders& holders,
                                                   OtherSecrets others,
                                                   std::optional<Wrap> made) const {
  const auto* active = options_.wrapping.active.get();
  bool has_active = made.has_value();
  std::vector<Wrap> wraps;
  for (const auto wrap : key.getWraps())
    if (active != nullptr && view(wrap.getRecipient()) == active->name()) has_active = true;
  for (const auto wrap : key.getWraps()) {
    const auto recipient = view(wrap.getRecipient());
    if (!is_of_wrapping_key(recipient)) continue;
    const bool is_active = active != nullptr && recipient == active->name();
    const bool is_needed = std::any_of(holders.begin(), holders.end(), [&](const auto& holder) {
      return can_use(*holder, recipient)
             && !(has_active && active != nullptr && can_use(*holder, active->name()));
    });
    if (others == OtherSecrets::drop && !is_active && !is_needed) continue;
    const auto sealed = span_of(wrap.getSealed());
    wraps.push_back({std::string{recipient}, {sealed.begin(), sealed.end()}});
  }
  if (made) wraps.push_back(std::move(*made));
  return wraps;
}

Object<schema::RootKey> Keyring::rewrapped(const Object<schema::RootKey>& key,
                                           const Holders& holders,
                                           OtherSecrets others,
                                           std::optional<Wrap> made) {
  const auto root_key = material(key);
  if (!root_key) return {};
  const auto id = view(key->getKeyId());
  bool is_changed = made.has_value();
  auto wraps = external_wraps(*key, holders, others, std::move(made));
  const auto externals = wraps.size();
  const auto find_wrap = [&](std::string_view recipient) -> std::optional<Wrap> {
    for (const auto wrap : key->getWraps()) {
      if (view(wrap.getRecipient()) != recipient) continue;
      const auto sealed = span_of(wrap.getSealed());
      return Wrap{std::string{recipient}, {sealed.begin(), sealed.end()}};
    }
    return std::nullopt;
  };
  const auto keep_or_make = [&](std::string_view recipient, std::span<const std::byte> public_key) {
    if (auto wrap = find_wrap(recipient)) return wraps.push_back(std::move(*wrap));
    auto sealed = wrap_root_key(recipient, public_key, id, **root_key);
    if (!sealed) return;  // a holder without a sound public key: nobody can wrap for it
    wraps.push_back({std::string{recipient}, std::move(*sealed)});
    is_changed = true;
  };
  // Where the leader has no wrapping key that is active, all are to do without one again.
  const bool leads_without = others == OtherSecrets::drop && !options_.wrapping.active;
  bool all_served = !leads_without;
  for (const auto& each : holders) {
    const bool is_served
        = !leads_without
          && std::any_of(wraps.begin(), wraps.begin() + externals,
                         [&](const auto& wrap) { return can_use(*each, wrap.recipient); });
    all_served = all_served && is_served;
    if (!is_served)
      keep_or_make(recipient_of(*each), span_of(each->getPublicKey()));
    else if (others == OtherSecrets::keep)
      if (auto wrap = find_wrap(recipient_of(*each))) wraps.push_back(std::move(*wrap));
  }
  std::vector<Wrap> of_secrets;
  for (const auto wrap : key->getWraps())
    if (is_of_secret(view(wrap.getRecipient()))) {
      const auto sealed = span_of(wrap.getSealed());
      of_secrets.push_back({copy(wrap.getRecipient()), {sealed.begin(), sealed.end()}});
    }
  const bool has_secret = cluster_key_.size() != 0;
  const bool needs_none = all_served && externals != 0;
  if (needs_none && others == OtherSecrets::drop)
    of_secrets.clear();
  else if (has_secret && !needs_none && (others == OtherSecrets::drop || of_secrets.empty()))
    keep_or_make(cluster_recipient_, {});
  else  // what others share with the secret is not ours to drop
    std::move(of_secrets.begin(), of_secrets.end(), std::back_inserter(wraps));
  if (!is_changed && wraps.size() == key->getWraps().size()) return {};
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
      = seal(*root_key, variable_place(ns, path, id), encoded_items.bytes(), options_.random);
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
  const auto root_key = NOMAD_TRY(material(key));
  return unseal(*root_key,
                variable_place(view(variable->getNamespace()), view(variable->getPath()),
                               view(variable->getKeyId())),
                span_of(variable->getData()));
}

Result<Bytes> Keyring::seal_secret(const Object<schema::RootKey>& key,
                                   const SecretPlace& place,
                                   std::string_view secret) {
  const auto root_key = NOMAD_TRY(material(key));
  return seal(*root_key, join_place(place.kind, {place.name, view(key->getKeyId())}),
              std::as_bytes(std::span{secret}), options_.random);
}

Result<Secret> Keyring::open_secret(const Object<schema::RootKey>& key,
                                    const SecretPlace& place,
                                    capnp::Data::Reader sealed) {
  const auto root_key = NOMAD_TRY(material(key));
  return unseal(*root_key, join_place(place.kind, {place.name, view(key->getKeyId())}),
                span_of(sealed));
}

Result<Secret> Keyring::derive(const Object<schema::RootKey>& key, std::string_view purpose) {
  const auto root_key = NOMAD_TRY(material(key));
  return derive_key(root_key->bytes(), purpose);
}

}  // namespace nomad::security
