#include "runtime/state/store.hpp"

#include <algorithm>

#include "runtime/object/draft.hpp"
#include "runtime/state/applier.hpp"

namespace nomad::state {

namespace {

constexpr Index initial_index = 1;

void touch(Tables& t, Table table) {
  t.indexes[static_cast<std::uint32_t>(table)] = initial_index;
}

Tables initial_tables() {
  Tables t;
  Draft<schema::Namespace> ns;
  ns->setName("default");
  ns->setDescription("Default shared namespace");
  ns->setCreateIndex(initial_index);
  ns->setModifyIndex(initial_index);
  t.namespaces.insert_or_assign("default", ns.freeze());
  touch(t, Table::namespaces);
  for (const auto& [name, description] :
       {std::pair{"all", "Node pool with all nodes in the cluster."},
        std::pair{"default", "Default node pool."}}) {
    Draft<schema::NodePool> pool;
    pool->setName(name);
    pool->setDescription(description);
    pool->setCreateIndex(initial_index);
    pool->setModifyIndex(initial_index);
    t.node_pools.insert_or_assign(name, pool.freeze());
  }
  touch(t, Table::node_pools);
  return t;
}

std::size_t bytes_of(const std::vector<Event>& events) {
  std::size_t bytes = 0;
  for (const auto& event : events)
    bytes += std::visit([](const auto& object) { return object.size_in_bytes(); }, event.payload);
  return bytes;
}

/// The number of the command that first wrote the table: who does not know that one does not know
/// the table. Of those that came after the first release, the first of which is `scaling_events`;
/// one that is missing here is taken for the newest.
std::uint32_t first_writer(Table table) {
  switch (table) {
    case Table::scaling_events:
      return schema::Command::JOB_SCALE;
    case Table::job_submissions:
      return schema::Command::JOB_SUBMISSION;
    case Table::periodic_launches:
      return schema::Command::PERIODIC_LAUNCH_REGISTER;
    case Table::acl_policies:
      return schema::Command::ACL_POLICY_UPSERT;
    case Table::acl_tokens:
      return schema::Command::ACL_TOKEN_UPSERT;
    case Table::acl_one_time_tokens:
      return schema::Command::ACL_ONE_TIME_TOKEN_UPSERT;
    case Table::acl_roles:
      return schema::Command::ACL_ROLE_UPSERT;
    case Table::acl_auth_methods:
      return schema::Command::ACL_AUTH_METHOD_UPSERT;
    case Table::acl_binding_rules:
      return schema::Command::ACL_BINDING_RULE_UPSERT;
    case Table::acl_bootstrap:
      return schema::Command::ACL_BOOTSTRAP;
    case Table::quotas:
      return schema::Command::QUOTA_UPSERT;
    case Table::admission_policies:
      return schema::Command::ADMISSION_POLICY_UPSERT;
    case Table::csi_volumes:
      return schema::Command::CSI_VOLUME_REGISTER;
    default:
      return table < Table::scaling_events ? 0 : known_commands() - 1;
  }
}

/// Releases before variableLocking would pass over these parts of rows, those before
/// rootKeyForcedDelete over an admission policy's, and those before jobVersionTagging over tags.
bool is_new(schema::Variable::Reader row) {
  return row.hasLock();
}

bool is_new(schema::RootKey::Reader row) {
  return row.getState() == schema::RootKeyState::PREPUBLISHED;
}

bool is_new(schema::AdmissionPolicy::Reader row) {
  return row.getHasHead();
}

bool is_new(schema::Job::Reader row) {
  return row.hasVersionTag();
}

/// One that cannot be read is refused where the rows are put together.
template <class Row>
bool is_new_row(capnp::Data::Reader value) {
  const auto row
      = Object<Row>::from_bytes({reinterpret_cast<const std::byte*>(value.begin()), value.size()});
  return row && is_new(**row);
}

std::uint32_t kind_of_row(Table table, capnp::Data::Reader value) {
  const auto kind = first_writer(table);
  if ((table == Table::variables && is_new_row<schema::Variable>(value))
      || (table == Table::root_keys && is_new_row<schema::RootKey>(value)))
    return std::max<std::uint32_t>(kind, schema::Command::VARIABLE_LOCKING);
  if (table == Table::admission_policies && is_new_row<schema::AdmissionPolicy>(value))
    return schema::Command::ROOT_KEY_FORCED_DELETE;
  if (table == Table::job_versions && is_new_row<schema::Job>(value))
    return schema::Command::JOB_VERSION_TAGGING;
  return kind;
}

/// The rows of a snapshot: who does not know each of their tables, or a part that a row has, keeps
/// his old state.
std::uint32_t kind_of_rows(schema::RestoreRows::Reader command) {
  std::uint32_t kind = schema::Command::RESTORE_ROWS;
  for (const auto row : command.getRows())
    if (const auto table = stored_table(view(row.getTable())))
      kind = std::max(kind, kind_of_row(*table, row.getValue()));
  return kind;
}

}  // namespace

Store::Store() : Store(Options{}) {}

Store::Store(Options options)
    : working_{std::make_unique<Tables>(initial_tables())},
      published_{std::make_shared<const Tables>(*working_)},
      events_{options.event_batches} {
  spare_events_.emplace([this] { events_.pack(); });
  note_rights(*working_);
}

Store::Store(const Snapshot& base)
    : working_{std::make_unique<Tables>(base.tables())},
      keep_events_{false},
      published_{std::make_shared<const Tables>(*working_)},
      events_{1} {
  note_rights(*working_);
}

Store::~Store() = default;

Index Store::index_offset() const {
  return working_->index_offset;
}

Outcome Store::apply(Index index, schema::Command::Reader command) {
  Outcome outcome;
  std::vector<Event> events;
  Applier{*working_, index, changes_, keep_events_ ? &events : nullptr, outcome}.apply(command);
  if (outcome.replaced) {  // nothing from before can be told any more
    replaced_ = true;
    changes_.clear();
    pending_events_.clear();
  }
  working_->applied = std::max(working_->applied, index);
  if (!events.empty()) pending_events_.emplace_back(index, std::move(events));
  return outcome;
}

void Store::set_applied(Index index) {
  working_->applied = std::max(working_->applied, index);
}

void Store::publish() {
  auto next = std::make_shared<const Tables>(*working_);
  {
    const std::lock_guard lock{mutex_};
    published_.swap(next);
    note_rights(*published_);
  }
  replaced_tables_.swap(next);
  next.reset();  // may free much; not under the lock
  changes_.push_back({static_cast<std::uint32_t>(Table::applied), {}});
  std::vector<Change> changes;
  changes.swap(changes_);
  watches_.notify(changes);
  if (std::exchange(replaced_, false)) {
    watches_.notify_all();
    events_.reset(working_->applied);
  }
  auto pending = std::exchange(pending_events_, {});
  for (auto& [index, events] : pending) {
    const auto bytes = bytes_of(events);
    events_.append(index, std::move(events), bytes);
  }
}

void Store::replace(Tables restored, Index applied) {
  *working_ = std::move(restored);
  working_->applied = applied + working_->index_offset;
  changes_.clear();
  pending_events_.clear();
  publish();
  watches_.notify_all();
  events_.reset(working_->applied);
}

void Store::note_rights(const Tables& tables) {
  rights_index_.store(rights_index(tables), std::memory_order_release);
  tokens_index_.store(tables.indexes[static_cast<std::uint32_t>(Table::acl_tokens)],
                      std::memory_order_release);
}

Snapshot Store::snapshot() const {
  const std::lock_guard lock{mutex_};
  return Snapshot{published_};
}

Result<> check_command(schema::Command::Reader command) {
  const auto number = kind_of(command);
  if (number < known_commands())
    return command.isGuarded() ? check_reads(command.getGuarded()) : Result<>{};
  return Error{Errc::corrupt,
               "command " + std::to_string(number) + " is unknown to this version of the server"};
}

namespace {

/// What a command may have that releases before a later command would pass over, and so apply
/// otherwise. One bit each.
constexpr std::uint32_t identity_key_part = 1;
constexpr std::uint32_t prepublished_part = 2;
constexpr std::uint32_t lock_id_part = 4;
constexpr std::uint32_t admission_head_part = 8;

std::uint32_t later_parts(schema::Command::Reader command) {
  switch (command.which()) {
    case schema::Command::PLAN_RESULTS:
      for (const auto plan : command.getPlanResults().getPlans())
        if (plan.getIdentityKey() != 0) return identity_key_part;
      return 0;
    case schema::Command::ROOT_KEY_UPSERT:
      return is_new(command.getRootKeyUpsert().getKey()) ? prepublished_part : 0;
    case schema::Command::VARIABLE_APPLY:
      return command.getVariableApply().getLockId().size() != 0 ? lock_id_part : 0;
    case schema::Command::ADMISSION_POLICY_UPSERT:
      return is_new(command.getAdmissionPolicyUpsert()) ? admission_head_part : 0;
    default:
      return 0;
  }
}

/// Rows that another region has decided on.
std::uint32_t kind_of_shared(schema::SharedRows::Reader command) {
  if (stored_table(view(command.getKind())) == Table::admission_policies)
    for (const auto row : command.getRows())
      if (is_new_row<schema::AdmissionPolicy>(row)) return schema::Command::ROOT_KEY_FORCED_DELETE;
  return schema::Command::SHARED_ROWS;
}

std::uint32_t kind_of_one(schema::Command::Reader command) {
  if (command.isRestoreRows()) return kind_of_rows(command.getRestoreRows());
  if (command.isSharedRows()) return kind_of_shared(command.getSharedRows());
  const auto parts = later_parts(command);
  if (parts == admission_head_part) return schema::Command::ROOT_KEY_FORCED_DELETE;
  return parts != 0 ? schema::Command::VARIABLE_LOCKING : command.which();
}

}  // namespace

std::uint32_t kind_of(schema::Command::Reader command) {
  const auto number = kind_of_one(command);
  if (!command.isGuarded()) return number;
  return std::max(number, kind_of_one(command.getGuarded().getCommand()));
}

CommandParts parts_of(schema::Command::Reader command) {
  if (!command.isGuarded()) return {command.which(), later_parts(command)};
  const auto inner = command.getGuarded().getCommand();
  return {std::max<std::uint32_t>(command.which(), inner.which()), later_parts(inner)};
}

Object<schema::Command> without_new_parts(schema::Command::Reader command) {
  if (!command.isPlanResults() || later_parts(command) == 0) return {};
  Draft<schema::Command> draft{command};
  for (auto plan : draft->getPlanResults().getPlans())
    plan.setIdentityKey(0);
  return draft.freeze();
}

WatchKey watch_key(Table table, std::string_view key) {
  return {static_cast<std::uint32_t>(table), std::string{key}, false};
}

WatchKey watch_prefix(Table table, std::string_view prefix) {
  return {static_cast<std::uint32_t>(table), std::string{prefix}, true};
}

}  // namespace nomad::state
