// Namespaces and the quotas that bound what they take, as kinds (kinds.hpp says what a descriptor
// has). What they take is counted by quota_use.hpp.
#pragma once

#include <optional>
#include <string>
#include <tuple>

#include "runtime/state/kinds/kind.hpp"
#include "schema/operator.capnp.h"
#include "schema/quota.capnp.h"

namespace nomad::state::kind {

struct Namespaces : Stored<schema::Namespace, Table::namespaces> {
  struct Rows {
    Objects<Type> namespaces;                    ///< name
    PersistentMap<Nothing> namespaces_by_quota;  ///< quota\0name
  };

  static constexpr auto rows = &Rows::namespaces;
  static constexpr std::string_view name = "namespaces";
  static constexpr PutCommand put{schema::Command::NAMESPACE_UPSERT,
                                  &schema::Command::Reader::getNamespaceUpsert,
                                  &schema::Command::Builder::setNamespaceUpsert};
  static constexpr RemoveCommand remove{schema::Command::NAMESPACE_DELETE,
                                        &schema::Command::Reader::getNamespaceDelete,
                                        &schema::Command::Builder::setNamespaceDelete};

  static std::string key(Reader ns) { return copy(ns.getName()); }

  static std::string missing(std::string_view) { return "namespace not found"; }

  static bool is_shared(Reader) { return true; }

  static std::optional<std::string> key_by_quota(Reader ns) {
    if (ns.getQuota().size() == 0) return std::nullopt;
    return join_key(view(ns.getQuota()), view(ns.getName()));
  }

  static constexpr std::tuple indexes{RowIndex{&Rows::namespaces_by_quota, &key_by_quota}};

  /// The quota must be there.
  static std::optional<Error> may_put(const Tables& tables,
                                      const Object<Type>& stored,
                                      Reader wanted);
  static std::optional<Error> may_remove(const Tables& tables, Reader ns);

  /// Counts what it takes for its quota.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);
};

/// A namespace names the one that bounds what it takes.
struct Quotas : Stored<schema::QuotaSpec, Table::quotas> {
  struct Rows {
    Objects<Type> quotas;  ///< name
  };

  static constexpr auto rows = &Rows::quotas;
  static constexpr std::string_view name = "quotas";
  static constexpr PutCommand put{schema::Command::QUOTA_UPSERT,
                                  &schema::Command::Reader::getQuotaUpsert,
                                  &schema::Command::Builder::setQuotaUpsert};
  static constexpr RemoveCommand remove{schema::Command::QUOTA_DELETE,
                                        &schema::Command::Reader::getQuotaDelete,
                                        &schema::Command::Builder::setQuotaDelete};

  static std::string key(Reader quota) { return copy(quota.getName()); }

  static bool is_shared(Reader) { return true; }

  /// Not while a namespace names it.
  static std::optional<Error> may_remove(const Tables& tables, Reader quota);

  /// Its limits may be wider now.
  static void derive(Tables& tables,
                     const Object<Type>& before,
                     const Object<Type>& after,
                     const Derivation& how);

  static std::string missing(std::string_view) { return "quota not found"; }
};

}  // namespace nomad::state::kind
