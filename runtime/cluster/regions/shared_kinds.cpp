#include "runtime/cluster/regions/shared_kinds.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "runtime/access/secret_hash.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/kinds/kinds.hpp"

namespace nomad::cluster {

namespace {

using state::Snapshot;
namespace kind = state::kind;

template <class Kind>
concept OfAccess = std::is_same_v<Kind, kind::AclPolicies> || std::
    is_same_v<Kind, kind::AclTokens> || std::is_same_v<Kind, kind::AclRoles> || std::
        is_same_v<Kind, kind::AclAuthMethods> || std::is_same_v<Kind, kind::AclBindingRules>;

template <class Kind>
concept WithSecret = requires(typename Kind::Reader row) {
  row.getSealed();
};

capnp::Data::Reader data_in(std::string_view bytes) {
  return {reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> bytes_in(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

template <class Kind>
RowMark mark_of(typename Kind::Reader row, bool is_copy) {
  return {.key = Kind::key(row),
          .index = is_copy ? row.getOriginIndex() : row.getModifyIndex(),
          .hash = std::string{kind::bytes_of(row.getHash())}};
}

template <class Kind, bool is_copy>
MarkPage marks_of(const Snapshot& state, const MarkRange& range) {
  MarkPage page{
      .index = std::max<std::uint64_t>(1, state.index(Kind::table)), .marks = {}, .is_last = true};
  const auto& rows = state.rows<Kind>();
  for (auto at = rows.lower_bound(range.after); at.valid(); at.next()) {
    if (at.key() == range.after || !Kind::is_shared(*at.value())) continue;
    if (!range.last.empty() && at.key() > range.last) break;
    if (page.marks.size() >= range.most) {
      page.is_last = false;
      break;
    }
    page.marks.push_back(mark_of<Kind>(*at.value(), is_copy));
  }
  return page;
}

template <class Kind>
std::optional<RowMark> mark_of_copy(const Snapshot& state, std::string_view key) {
  const auto row = state.row<Kind>(key);
  if (!row || !Kind::is_shared(*row)) return {};
  return mark_of<Kind>(*row, true);
}

template <class Kind>
std::optional<SharedRow> read_shared(const Snapshot& state, std::string_view key) {
  const auto row = state.row<Kind>(key);
  if (!row || !Kind::is_shared(*row)) return {};
  SharedRow shown{.mark = mark_of<Kind>(*row, false), .row = {}, .sealed = {}};
  Draft<typename Kind::Type> draft{row};
  draft->setOriginIndex(0);
  if constexpr (WithSecret<Kind>) {
    shown.sealed = {copy(row->getKeyId()), std::string{kind::bytes_of(row->getSealed())}};
    draft->setSealed({});
  }
  shown.row = bytes_in(draft.freeze().bytes());
  return shown;
}

template <class Kind>
Result<std::vector<std::byte>> copy_shared(std::span<const std::byte> bytes,
                                           const RowMark& original,
                                           const SecretText& secret,
                                           const SealedPart& sealed) {
  const auto row = Object<typename Kind::Type>::from_bytes(bytes);
  if (!row || !Kind::is_shared(**row) || Kind::key(**row) != original.key)
    return Error{Errc::corrupt, "what came is not that row"};
  Draft<typename Kind::Type> draft{*row};
  draft->setOriginIndex(original.index);
  draft->setHash(data_in(original.hash));
  if constexpr (WithSecret<Kind>) {
    if ((*row)->getKeyId().size() != 0 && sealed.key_id.empty())
      return Error{Errc::unavailable, "its secret does not open there now"};
    draft->setKeyId(text(sealed.key_id));
    draft->setSealed(data_in(sealed.bytes));
  }
  if constexpr (std::is_same_v<Kind, kind::AclTokens>) {
    if (!secret.empty()) draft->setSecretHash(data_in(access::secret_hash(secret.reveal())));
    if (draft.reader().getSecretHash().size() == 0)
      return Error{Errc::corrupt, "a token without a secret"};
  }
  return bytes_in(draft.freeze().bytes());
}

template <class Kind>
std::optional<Error> copy_stays(const Snapshot& state, std::string_view key) {
  const auto row = state.row<Kind>(key);
  if (!row) return {};
  if constexpr (requires { &Kind::may_remove; })
    return Kind::may_remove(state.tables(), *row);
  else
    return {};
}

template <class Kind>
SharedKind row_of_table() {
  return {.name = Kind::name,
          .table = Kind::table,
          .is_of_access = OfAccess<Kind>,
          .originals = marks_of<Kind, false>,
          .copies = marks_of<Kind, true>,
          .copy_of = mark_of_copy<Kind>,
          .read = read_shared<Kind>,
          .copy = copy_shared<Kind>,
          .stays = copy_stays<Kind>};
}

}  // namespace

const std::vector<SharedKind>& shared_kinds() {
  static const auto table = [] {
    std::vector<SharedKind> rows;
    state::each_kind([&rows]<class Kind>() {
      if constexpr (requires { &Kind::is_shared; }) rows.push_back(row_of_table<Kind>());
    });
    std::stable_partition(rows.begin(), rows.end(), [](const SharedKind& kind) {
      return kind.table == state::Table::quotas;
    });
    return rows;
  }();
  return table;
}

const SharedKind* find_shared_kind(std::string_view name) {
  const auto& table = shared_kinds();
  const auto found = std::find_if(table.begin(), table.end(),
                                  [name](const SharedKind& kind) { return kind.name == name; });
  return found == table.end() ? nullptr : &*found;
}

Object<schema::Command> copy_command(const SharedKind& kind,
                                     const std::vector<std::vector<std::byte>>& rows,
                                     const std::vector<std::string>& removed) {
  Draft<schema::Command> draft;
  auto body = draft->initSharedRows();
  body.setKind(text(kind.name));
  auto to_put = body.initRows(static_cast<unsigned>(rows.size()));
  for (unsigned i = 0; i < to_put.size(); ++i)
    to_put.set(i, {reinterpret_cast<const unsigned char*>(rows[i].data()), rows[i].size()});
  auto to_remove = body.initRemoved(static_cast<unsigned>(removed.size()));
  for (unsigned i = 0; i < to_remove.size(); ++i)
    to_remove.set(i, text(removed[i]));
  return draft.freeze();
}

}  // namespace nomad::cluster
