// View: the state as one caller may see it. What handlers read, they read by it: it judges with the
// namespace of the object that it found, and rows that the caller may not see are not there for
// him. The capability is that of the route, unless `as` names another.
//
// Of nodes, pools and the cluster the route has judged (routes.hpp): they are of no namespace. Of
// access control he sees what is his own (cluster::OwnAcl), unless he manages.
// Lives as long as the snapshot and the verdicts that it was made of; one thread at a time.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "runtime/access/verdicts.hpp"
#include "runtime/cluster/acl/acl_names.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/object/flat_struct.hpp"
#include "runtime/state/snapshot.hpp"
#include "runtime/state/volumes/csi_plugins.hpp"

namespace nomad::api {

/// The object of a table's row.
template <class T>
const Object<T>& object_of(const Object<T>& row) {
  return row;
}

inline const Object<schema::Allocation>& object_of(const state::AllocRef& row) {
  return row->alloc;
}

/// What is of no namespace and is read by routes that are open to everybody: what these show of it
/// is public.
template <class Row>
inline constexpr bool is_open_to_all
    = std::is_same_v<Row,
                     Object<schema::AclAuthMethod>> || std::is_same_v<Row, Object<schema::RootKey>>;

/// Whether it is judged by its namespace alone.
template <class Row>
concept OfNamespace = !std::is_same_v<Row, Object<schema::Variable>> && requires(const Row& row) {
  object_of(row).reader().getNamespace();
};

/// The namespace that a scaling policy's job is in.
inline std::string_view namespace_of(schema::ScalingPolicy::Reader policy) {
  return find_text(policy.getTarget(), "Namespace").value_or("default");
}

/// A table of rows, or an index of one: `&state::Snapshot::jobs_map`.
template <class Map>
using Rows = Map (state::Snapshot::*)() const;

/// Where a walk begins and ends.
struct Walk {
  std::string prefix = {};  ///< Keys that begin otherwise are not part of it.
  std::string start = {};   ///< The first key, or with `reverse` the last; "" is all.
  bool reverse = false;
};

class View {
public:
  View(const state::Snapshot& snapshot, access::Verdicts& verdicts, access::Capability needed)
      : snapshot_{&snapshot}, verdicts_{&verdicts}, needed_{needed} {}

  /// The same for objects that need another capability.
  View as(access::Capability needed) const { return {*snapshot_, *verdicts_, needed}; }

  /// Valid until the next question.
  const Result<access::Allowed>& judge(std::string_view ns) const {
    return verdicts_->judge(needed_, ns);
  }

  const access::Principal& who() const { return verdicts_->who(); }

  /// Whether the caller may see any node pool at all; each is judged by its own name besides.
  Result<> sees_some_pool() const {
    const auto allowed = access::authorize(verdicts_->who(), access::Capability::node_pool_read,
                                           {.node_pool = "*"});
    return allowed ? Result<>{} : Result<>{allowed.error()};
  }

  /// Whether the caller may see this row.
  template <class Row>
  bool sees(const Row& row) const;
  template <OfNamespace Row>
  bool sees(const Row& row) const;

  // What is of no namespace.
  state::Index index() const { return snapshot_->index(); }

  state::Index index(state::Table table) const { return snapshot_->index(table); }

  /// The index of the stored table that has not changed for longest.
  state::Index least_index() const { return snapshot_->least_index(); }

  /// Of a whole table.
  template <auto rows>
  std::size_t size() const {
    return (snapshot_->*rows)().size();
  }

  Object<schema::Node> node(std::string_view id) const { return snapshot_->node(id); }

  Object<schema::RootKey> root_key(std::string_view id) const { return snapshot_->root_key(id); }

  Object<schema::SchedulerConfiguration> scheduler_configuration() const {
    return snapshot_->scheduler_configuration();
  }

  /// The whole state, to read what belongs to namespace `ns`.
  Result<const state::Snapshot*> in(std::string_view ns) const {
    if (const auto& allowed = judge(ns); !allowed) return allowed.error();
    return snapshot_;
  }

  /// What of access control the caller may read.
  const cluster::OwnAcl& own_acl() const {
    if (!own_acl_) own_acl_ = std::make_shared<const cluster::OwnAcl>(*snapshot_, verdicts_->who());
    return *own_acl_;
  }

  /// The token with that secret: who knows it may read the token.
  Object<schema::AclToken> acl_token_of(std::string_view secret_hash) const {
    return cluster::token_of_secret(*snapshot_, secret_hash);
  }

  /// The name of a role that a token is tied to; empty if there is none any more.
  std::string acl_role_name(std::string_view id) const {
    const auto role = snapshot_->row<state::kind::AclRoles>(id);
    return role ? copy(role->getName()) : std::string{};
  }

  // Single objects; empty if there is none, `permission_denied` if it is not for the caller.
  Result<Object<schema::AclRole>> acl_role_named(std::string_view name) const {
    auto role = cluster::role_of_name(*snapshot_, name);
    if (!own_acl().has_role(role ? view(role->getId()) : "")) return access::permission_denied();
    return role;
  }

  Result<state::AllocRef> alloc(std::string_view id) const {
    return if_allowed(snapshot_->alloc(id));
  }

  Result<Object<schema::Evaluation>> eval(std::string_view id) const {
    return if_allowed(snapshot_->eval(id));
  }

  Result<Object<schema::Deployment>> deployment(std::string_view id) const {
    return if_allowed(snapshot_->deployment(id));
  }

  Result<Object<schema::ScalingPolicy>> scaling_policy(std::string_view id) const {
    auto policy = snapshot_->scaling_policy(id);
    if (policy)
      if (const auto& allowed = judge(namespace_of(*policy)); !allowed) return allowed.error();
    return policy;
  }

  /// Of any kind that has rows.
  template <class Kind>
  Result<state::ObjectOf<Kind>> row(std::string_view key) const {
    auto row = snapshot_->row<Kind>(key);
    if constexpr (std::is_same_v<Kind, state::kind::Namespaces>)
      NOMAD_TRY(in(key));
    else if constexpr (std::is_same_v<Kind, state::kind::NodePools>)
      NOMAD_TRY(access::authorize(verdicts_->who(), needed_, {.node_pool = key}));
    else if constexpr (std::is_same_v<Kind, state::kind::Quotas>) {
      if (!sees_quota(key)) return access::permission_denied();
    } else if constexpr (Kind::name.starts_with("acl_")) {
      if (!may_read_acl<Kind>(key)) return access::permission_denied();
    } else if constexpr (std::is_same_v<Kind, state::kind::AdmissionPolicies>) {
      if (!own_acl().manages()) return access::permission_denied();
    } else if constexpr (requires { row.reader().getNamespace(); })
      return if_allowed(std::move(row));
    return row;
  }

  Result<Object<schema::Job>> job(std::string_view ns, std::string_view id) const {
    const auto* all = NOMAD_TRY(in(ns));
    return all->job(ns, id);
  }

  Result<Object<schema::JobSummary>> job_summary(std::string_view ns, std::string_view id) const {
    const auto* all = NOMAD_TRY(in(ns));
    return all->job_summary(ns, id);
  }

  Result<Object<schema::Variable>> variable(std::string_view ns, std::string_view path) const {
    NOMAD_TRY(access::authorize(verdicts_->who(), needed_, {ns, path}));
    return snapshot_->variable(ns, path);
  }

  /// Those of the rows that an index names which the caller may see.
  std::vector<state::AllocRef> allocs_by_eval(std::string_view eval_id) const {
    return seen(snapshot_->allocs_by_eval(eval_id));
  }

  std::vector<state::AllocRef> allocs_by_deployment(std::string_view deployment_id) const {
    return seen(snapshot_->allocs_by_deployment(deployment_id));
  }

  /// Of no namespace: what it tells everybody may know who sees a volume of it.
  std::optional<state::CsiPlugin> csi_plugin(std::string_view id) const {
    return state::find_csi_plugin(*snapshot_, id);
  }

  std::vector<std::string> csi_plugins(std::string_view id_prefix) const {
    return snapshot_->csi_plugins(id_prefix);
  }

  /// Calls `use(status)` for each evaluation that the caller may see of namespace `ns`, "*" being
  /// all, or of one job of it. Goes by keys: what is counted is not looked at.
  template <class Use>
  void each_eval_status(std::string_view ns, std::string_view job, Use use) const;

  /// Calls `use(cursor)` for each row of `rows` that the caller may see, until it says false
  /// (a Result that is an error does so, too).
  template <class Map, class Use>
  void walk(Rows<Map> rows, const Walk& walk, Use use) const;

  /// What is in use of a quota that the caller sees.
  state::QuotaUse quota_use(schema::QuotaSpec::Reader quota) const {
    return snapshot_->quota_use(view(quota.getName()));
  }

  std::int64_t quota_variable_bytes(schema::QuotaSpec::Reader quota) const {
    return snapshot_->quota_variable_bytes(view(quota.getName()));
  }

private:
  /// Whether he may look into each namespace whose quota it is, for its use tells of theirs.
  bool sees_quota(std::string_view name) const {
    return std::ranges::all_of(snapshot_->namespaces_of_quota(name), [this](const auto& ns) {
      return as(access::Capability::any_in_namespace).judge(ns).has_value();
    });
  }

  /// Whether the caller may read that of which the key is, whether there is one or not.
  template <class Kind>
  bool may_read_acl(std::string_view key) const {
    if constexpr (std::is_same_v<Kind, state::kind::AclPolicies>)
      return own_acl().has_policy(key);
    else if constexpr (std::is_same_v<Kind, state::kind::AclRoles>)
      return own_acl().has_role(key);
    else if constexpr (std::is_same_v<Kind, state::kind::AclTokens>)
      return own_acl().has_token(key);
    else
      return own_acl().manages();
  }

  template <class Row>
  Result<Row> if_allowed(Row row) const {
    if (!row) return row;
    if (const auto& allowed = judge(view(object_of(row).reader().getNamespace())); !allowed)
      return allowed.error();
    return row;
  }

  std::vector<state::AllocRef> seen(std::vector<state::AllocRef> rows) const {
    std::erase_if(rows, [this](const auto& row) { return !sees(row); });
    return rows;
  }

  const state::Snapshot* snapshot_;
  access::Verdicts* verdicts_;
  access::Capability needed_;
  mutable std::shared_ptr<const cluster::OwnAcl> own_acl_{};
};

template <OfNamespace Row>
bool View::sees(const Row& row) const {
  static const auto ns = object::text_field(object_of(row), "Namespace");
  return judge(ns.of(object_of(row))).has_value();
}

template <class Row>
bool View::sees(const Row& row) const {
  const auto object = object_of(row).reader();
  if constexpr (std::is_same_v<Row, Object<schema::Variable>>)
    return access::authorize(verdicts_->who(), needed_,
                             {view(object.getNamespace()), view(object.getPath())})
        .has_value();
  else if constexpr (std::is_same_v<Row, Object<schema::NodePool>>)
    return access::authorize(verdicts_->who(), needed_, {.node_pool = view(object.getName())})
        .has_value();
  else if constexpr (std::is_same_v<Row, Object<schema::QuotaSpec>>)
    return sees_quota(view(object.getName()));
  else if constexpr (std::is_same_v<Row, Object<schema::Namespace>>)
    return judge(view(object.getName())).has_value();
  else if constexpr (std::is_same_v<Row, Object<schema::ScalingPolicy>>)
    return judge(namespace_of(object)).has_value();
  else if constexpr (std::is_same_v<Row, Object<schema::AclPolicy>>)
    return own_acl().lists_policy(view(object.getName()));
  else if constexpr (std::is_same_v<Row, Object<schema::AclRole>>)
    return may_read_acl<state::kind::AclRoles>(view(object.getId()));
  else if constexpr (std::is_same_v<Row, Object<schema::AclToken>>)
    return may_read_acl<state::kind::AclTokens>(view(object.getAccessorId()));
  else if constexpr (
      std::is_same_v<
          Row,
          Object<schema::AclBindingRule>> || std::is_same_v<Row, Object<schema::AdmissionPolicy>>)
    return own_acl().manages();
  else  // the route has judged, if it needs anything
    return is_open_to_all<Row> || needed_ != access::Capability::none;
}

template <class Use>
void View::each_eval_status(std::string_view ns, std::string_view job, Use use) const {
  const auto range
      = ns == "*" || job.empty() ? snapshot_->evals_by_job() : snapshot_->evals_by_job(ns, job);
  std::string group;  // the namespace of the last one, as its key begins
  bool is_asked_for = false;
  for (const auto& entry : range) {
    const auto key = entry.key();  // "<namespace>\0<job>\0<status><id>"
    if (group.empty() || !key.starts_with(group)) {
      group.assign(key, 0, key.find('\0') + 1);
      const auto own = key.substr(0, group.size() - 1);
      is_asked_for = (ns == "*" || own == ns) && judge(own).has_value();
    }
    if (!is_asked_for) continue;
    const auto end_of_job = key.find('\0', group.size());
    if (job.empty() || key.substr(group.size(), end_of_job - group.size()) == job)
      use(static_cast<schema::EvalStatus>(key[end_of_job + 1]));
  }
}

/// Asks for the memory of the rows that come soon: waiting for one after the other is most of what
/// a walk over a large table costs.
template <class Cursor>
[[gnu::always_inline]] inline void look_ahead(const Cursor& cursor) {
  if constexpr (requires { object::prefetch_fields(*cursor.ahead(1)); }) {
    constexpr std::uint32_t distance = 4;
    for (auto next = cursor.begins_node() ? 1U : distance; next <= distance; ++next)
      if (const auto* row = cursor.ahead(next)) object::prefetch_fields(*row);
  }
}

template <class Map, class Use>
void View::walk(Rows<Map> rows, const Walk& walk, Use use) const {
  const auto& map = (snapshot_->*rows)();
  const auto begin = std::max(walk.prefix, walk.start);
  auto cursor = !walk.reverse        ? map.lower_bound(begin)
                : walk.start.empty() ? map.last()
                                     : map.before(walk.start + '\0');
  for (; cursor.valid(); walk.reverse ? cursor.previous() : cursor.next()) {
    if (!walk.prefix.empty() && !cursor.key_begins_with(walk.prefix)) return;
    look_ahead(cursor);
    if (sees(cursor.value()) && !use(cursor)) return;
  }
}

}  // namespace nomad::api
