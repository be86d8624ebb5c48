// Rows that hold in all regions, in a region that has them from the authoritative one: they are put
// as they are there, whatever a command of this region would be refused for. What this region alone
// can say counts: a row that it still needs stays, as do its own rows, which no other one has.
#include "runtime/state/apply_kind.hpp"

namespace nomad::state {

namespace {

template <class Kind>
constexpr std::string_view copied_event() {
  if constexpr (requires { Kind::put; })
    return Kind::put.event;
  else
    return Kind::copied_event;
}

template <class Kind>
constexpr std::string_view dropped_event() {
  if constexpr (requires { Kind::remove; })
    return Kind::remove.event;
  else
    return Kind::dropped_event;
}

}  // namespace

template <class Kind>
void Applier::drop_copy(std::string_view key) {
  const auto row = found<Kind>(key);
  if (!row || !Kind::is_shared(*row)) return;
  if constexpr (requires { &Kind::may_remove; })
    if (Kind::may_remove(t_, *row)) return;
  event_type_ = dropped_event<Kind>();
  if constexpr (std::is_same_v<Kind, kind::AclTokens>)
    remove_acl_token(row);
  else
    replace<Kind>(row, {});
}

template <class Kind>
void Applier::copy_row(std::span<const std::byte> bytes) {
  const auto row = Object<typename Kind::Type>::from_bytes(bytes);
  if (!row || !Kind::is_shared(**row)) return;
  const auto wanted = row->reader();
  if constexpr (requires { wanted.getSealed(); })
    if (wanted.getSealed().size() != 0 && !t_.root_keys.contains(view(wanted.getKeyId()))) return;
  const auto before = found<Kind>(Kind::key(wanted));
  if (before && !Kind::is_shared(*before)) return;
  if constexpr (requires { &Kind::rival; })
    if (const auto rival = Kind::rival(t_, wanted); !rival.empty()) {
      drop_copy<Kind>(rival);
      if (found<Kind>(rival)) return;
    }
  event_type_ = copied_event<Kind>();
  put_stamped<Kind>(before, wanted);
}

template <class Kind>
void Applier::copy_rows(schema::SharedRows::Reader command) {
  for (const auto key : command.getRemoved())
    drop_copy<Kind>(view(key));
  for (const auto row : command.getRows())
    copy_row<Kind>({reinterpret_cast<const std::byte*>(row.begin()), row.size()});
}

void Applier::shared_rows(schema::SharedRows::Reader command) {
  each_kind([&]<class Kind>() {
    if constexpr (requires { &Kind::is_shared; })
      if (view(command.getKind()) == Kind::name) copy_rows<Kind>(command);
  });
}

}  // namespace nomad::state
