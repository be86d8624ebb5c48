#include "actors/api/cluster/variable_answers.hpp"

#include "actors/api/http/request_body.hpp"
#include "actors/api/http/secret_answer.hpp"
#include "actors/api/http/wiping_memory.hpp"
#include "runtime/base/duration.hpp"
#include "runtime/net/http/error_status.hpp"

namespace nomad::api {
namespace {

void append_head(JsonObject& object, schema::Variable::Reader variable) {
  object.number("CreateIndex", variable.getCreateIndex())
      .number("CreateTime", variable.getCreateTime());
}

void append_lock(JsonObject& object, schema::Variable::Reader variable, ShownLock shown) {
  if (shown == ShownLock::no || !variable.hasLock()) return;
  const auto lock = variable.getLock();
  JsonObject{object.raw("Lock")}
      .text("ID", lock.getId())
      .text("LockDelay",
            lock.getLockDelay() == 0 ? "" : format_duration(Nanoseconds{lock.getLockDelay()}))
      .text("TTL", format_duration(Nanoseconds{lock.getTtl()}));
}

void append_rest(JsonObject& object, schema::Variable::Reader variable) {
  object.number("ModifyIndex", variable.getModifyIndex())
      .number("ModifyTime", variable.getModifyTime())
      .text("Namespace", variable.getNamespace())
      .text("Path", variable.getPath());
}

/// Text as Go writes a duration, or a number of nanoseconds.
Result<std::chrono::nanoseconds> duration_in(const BodyFields& fields, std::string_view name) {
  const auto* value = fields.find(name);
  if (value == nullptr) return std::chrono::nanoseconds{};
  if (value->is_number()) {
    if (const auto whole = value->whole<std::int64_t>()) return std::chrono::nanoseconds{*whole};
    return Error{Errc::invalid_argument, std::string{name} + ": it is no time in nanoseconds"};
  }
  if (!value->is(JsonKind::text))
    return Error{Errc::invalid_argument,
                 std::string{name} + ": expected a duration such as \"15s\""};
  if (value->text().empty()) return std::chrono::nanoseconds{};
  return parse_duration(value->text()).within(name);
}

Result<std::optional<AskedLock>> read_lock(const JsonNode* given) {
  if (given == nullptr) return std::optional<AskedLock>{};
  BodyFields fields{*given, "VariableLock"};
  AskedLock lock;
  lock.id = fields.text("ID");
  NOMAD_TRY(fields.check());
  lock.ttl = NOMAD_TRY(duration_in(fields, "TTL"));
  lock.delay = NOMAD_TRY(duration_in(fields, "LockDelay"));
  return std::optional{std::move(lock)};
}

}  // namespace

ShownLock lock_shown_to(const access::Principal& who, schema::Variable::Reader variable) {
  if (!variable.hasLock()) return ShownLock::no;
  return access::authorize(who, access::Capability::management, {}) ? ShownLock::yes
                                                                    : ShownLock::no;
}

void append_variable(JsonObject& object, schema::Variable::Reader variable, ShownLock lock) {
  append_head(object, variable);
  append_lock(object, variable, lock);
  append_rest(object, variable);
}

Answer variable_answer(unsigned status,
                       schema::Variable::Reader variable,
                       const security::Items* items,
                       ShownLock lock) {
  std::size_t size = 512 + variable.getLock().getId().size();
  if (items != nullptr) size += 2 * security::size_of(*items) + 16 * items->size();
  std::string out;
  out.reserve(size);  // what is outgrown is not wiped
  {
    JsonObject object{out};
    append_head(object, variable);
    if (items == nullptr) {
      object.null("Items");
    } else {
      JsonObject shown{object.raw("Items")};
      for (const auto& [key, value] : *items)
        append_json_text(shown.member(key), value);
    }
    append_lock(object, variable, lock);
    append_rest(object, variable);
  }
  return secret_answer(status, std::move(out));
}

Answer opened_answer(security::Keyring& keyring,
                     const Object<schema::RootKey>& key,
                     unsigned status,
                     const VariableRef& variable,
                     ShownLock lock) {
  if (variable->getKeyId().size() == 0) return variable_answer(status, *variable, nullptr, lock);
  const auto opened = keyring.open_variable(key, variable);
  if (!opened) return Answer::error(opened.error().within("variable error: decrypt"));
  const auto items = security::decode_items(*opened);
  if (!items) return Answer::error(items.error().within("variable error: decrypt"));
  return variable_answer(status, *variable, &*items, lock);
}

Answer conflict_answer(const Context& context,
                       security::Keyring& keyring,
                       const access::Asking& asking,
                       const VariableRef& variable) {
  const access::Target target{view(variable->getNamespace()), view(variable->getPath())};
  const auto status = net::http_status(Errc::conflict);
  const auto lock = lock_shown_to(asking.who, *variable);
  if (!authorize(asking.who, Capability::variables_read, target))
    return variable_answer(status, *variable, nullptr, lock).with_index(variable->getModifyIndex());
  const auto key = context.state.store->snapshot().root_key(view(variable->getKeyId()));
  return opened_answer(keyring, key, status, variable, lock).with_index(variable->getModifyIndex());
}

Result<VariableBody> read_variable(const net::Request& request) {
  const auto memory = wiping_memory();
  const auto body = NOMAD_TRY(read_body(request, memory.get()));
  BodyFields fields{body, "VariableDecrypted"};
  VariableBody read;
  read.ns = fields.text("Namespace");
  fields.text("Path");  // must be a text, but the URL's counts
  const auto* given = fields.object("Items");
  const auto* lock = fields.object("Lock");
  NOMAD_TRY(fields.check());
  read.lock = NOMAD_TRY(read_lock(lock));
  security::Items items;
  if (given != nullptr)
    for (const JsonNode* key : sorted_keys(*given)) {
      if (!key[1].is(JsonKind::text))
        return Error{Errc::invalid_argument,
                     "json: cannot unmarshal a value into Go struct field VariableDecrypted.Items "
                     "of type string"};
      items.emplace_back(key->text(), key[1].text());
    }
  read.encoded = security::encode_items(std::move(items));
  const auto kept = NOMAD_TRY(security::decode_items(read.encoded));
  read.items = kept.size();
  read.item_bytes = security::size_of(kept);
  return read;
}

}  // namespace nomad::api
