#include "actors/raft/state_fsm.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include <capnp/serialize.h>
#include <kj/exception.h>

#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/state/restore.hpp"

namespace nomad::raft {
namespace {

/// The table that holds the index of each other table's last change, as one row.
constexpr std::string_view index_table = "table_indexes";
constexpr std::string_view index_key = "all";
constexpr std::string_view offset_key = "offset";

/// Up to autopilotUpdate: those of the releases whose messages do not say what they know.
constexpr std::uint32_t commands_of_silent_releases = 33;

/// So much is applied in a few milliseconds.
constexpr std::size_t quick_commands = 256;
constexpr std::size_t quick_bytes = std::size_t{128} << 10;

std::vector<state::Table> stored_tables() {
  std::vector<state::Table> all;
  for (std::uint32_t i = 0; i < state::stored_tables; ++i)
    all.push_back(static_cast<state::Table>(i));
  return all;
}

class StateSnapshot : public SnapshotSource {
public:
  explicit StateSnapshot(state::Snapshot snapshot) : snapshot_(std::move(snapshot)) {}

  Result<> write(SnapshotSink& sink) const override {
    for (const auto table : stored_tables()) {
      // Without rows there is no table: a server that does not know it can take the snapshot.
      bool has_begun = false;
      NOMAD_TRY(snapshot_.for_each_row(
          table, [&](std::string_view key, std::span<const std::byte> bytes) -> Result<> {
            if (!std::exchange(has_begun, true))
              NOMAD_TRY(sink.begin_table(state::to_string(table)));
            return sink.row(key, bytes);
          }));
    }
    NOMAD_TRY(sink.begin_table(index_table));
    NOMAD_TRY(sink.row(index_key, snapshot_.index_row()));
    return sink.row(offset_key, snapshot_.offset_row());
  }

private:
  state::Snapshot snapshot_;
};

struct PreparedTables : PreparedState {
  explicit PreparedTables(state::Tables made) : tables(std::move(made)) {}

  state::Tables tables;
};

bool is_aligned(std::span<const std::byte> bytes) {
  return reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(capnp::word) == 0
         && bytes.size() % sizeof(capnp::word) == 0 && !bytes.empty();
}

Error misaligned() {
  return {Errc::corrupt, "the command's bytes are not whole, aligned words"};
}

/// Of bytes that are aligned and were checked.
schema::Command::Reader command_in(std::span<const std::byte> bytes) {
  return capnp::readMessageUnchecked<schema::Command>(
      reinterpret_cast<const capnp::word*>(bytes.data()));
}

/// Under which names of Nomad's the times of commands are shown.
constexpr std::pair<schema::Command::Which, std::string_view> measured_commands[] = {
    {schema::Command::JOB_REGISTER, "register_job"},
    {schema::Command::JOB_DEREGISTER, "deregister_job"},
    {schema::Command::JOB_STABILITY, "apply_job_stability"},
    {schema::Command::JOB_VERSION_TAGGING, "apply_job_version_tag"},
    {schema::Command::JOB_SCALE, "upsert_scaling_event"},
    {schema::Command::EVAL_UPDATE, "update_eval"},
    {schema::Command::EVAL_DELETE, "delete_eval"},
    {schema::Command::ALLOC_CLIENT_UPDATE, "alloc_client_update"},
    {schema::Command::ALLOC_TRANSITION, "alloc_update_desired_transition"},
    {schema::Command::NODE_REGISTER, "register_node"},
    {schema::Command::NODE_DEREGISTER, "deregister_node"},
    {schema::Command::NODE_STATUS_UPDATE, "node_status_update"},
    {schema::Command::NODE_DRAIN_UPDATE, "node_drain_update"},
    {schema::Command::NODE_ELIGIBILITY_UPDATE, "node_eligibility_update"},
    {schema::Command::NODE_EVENTS_UPSERT, "upsert_node_events"},
    {schema::Command::NODE_POOL_UPSERT, "apply_node_pool_upsert"},
    {schema::Command::NODE_POOL_DELETE, "apply_node_pool_delete"},
    {schema::Command::PLAN_RESULTS, "apply_plan_results"},
    {schema::Command::DEPLOYMENT_STATUS_UPDATE, "apply_deployment_status_update"},
    {schema::Command::DEPLOYMENT_PROMOTION, "apply_deployment_promotion"},
    {schema::Command::DEPLOYMENT_ALLOC_HEALTH, "apply_deployment_alloc_health"},
    {schema::Command::SCHEDULER_CONFIGURATION, "apply_scheduler_config"},
    {schema::Command::AUTOPILOT_UPDATE, "autopilot"},
    {schema::Command::NAMESPACE_UPSERT, "apply_namespace_upsert"},
    {schema::Command::NAMESPACE_DELETE, "apply_namespace_delete"},
    {schema::Command::SERVICE_UPSERT, "apply_service_registration_upsert"},
    {schema::Command::SERVICE_DELETE, "apply_service_registration_delete_id"},
    {schema::Command::NODE_SERVICES, "apply_service_registration_delete_node_id"},
    {schema::Command::ROOT_KEY_UPSERT, "apply_root_key_meta_upsert"},
    {schema::Command::ROOT_KEY_DELETE, "apply_root_key_meta_delete"},
    {schema::Command::ROOT_KEY_FORCED_DELETE, "apply_root_key_meta_delete"},
};

using MeasuringClock = std::chrono::steady_clock;

void observe_since(telemetry::Sample* sample, MeasuringClock::time_point begun) {
  if (sample == nullptr) return;
  const auto took = MeasuringClock::now() - begun;
  sample->observe(std::chrono::duration<double, std::milli>{took}.count());
}

}  // namespace

void StateFsm::measure_in(std::shared_ptr<telemetry::Registry> registry) {
  metrics_ = std::move(registry);
  if (!metrics_) return;
  batch_time_ = &metrics_->sample("raft.fsm.apply");
  times_.resize(state::known_commands());
  for (const auto& [which, name] : measured_commands)
    times_.at(which) = &metrics_->sample("nomad.fsm." + std::string{name});
}

Bytes payload_of(const Object<schema::Command>& command) {
  auto owner = std::make_shared<const Object<schema::Command>>(command);
  return {owner, owner->bytes()};
}

void StateFsm::set_listener(Listener listener) {
  const std::lock_guard lock{mutex_};
  listener_ = std::move(listener);
}

Result<> StateFsm::check(std::span<const std::byte> payload) const {
  NOMAD_TRY(Object<schema::Command>::check(payload));
  return state::check_command(command_in(payload));
}

std::uint32_t StateFsm::known_commands() const {
  return state::known_commands();
}

std::uint32_t StateFsm::common_commands() const {
  return commands_of_silent_releases;
}

std::uint32_t StateFsm::kind_of(std::span<const std::byte> payload) const {
  return is_aligned(payload) ? state::kind_of(command_in(payload)) : 0;
}

Fsm::CommandParts StateFsm::parts_of(std::span<const std::byte> payload) const {
  if (!is_aligned(payload)) return {};
  const auto parts = state::parts_of(command_in(payload));
  return {parts.number, parts.later};
}

std::optional<Bytes> StateFsm::earlier_form(std::span<const std::byte> payload) const {
  const auto command = command_in(payload);
  if (command.isGuarded())
    return payload_of(Draft<schema::Command>{command.getGuarded().getCommand()}.freeze());
  if (const auto plain = state::without_new_parts(command)) return payload_of(plain);
  return {};
}

bool StateFsm::takes_long(std::span<const Entry> commands) const {
  std::size_t bytes = 0;
  for (const auto& entry : commands) {
    const auto command = entry.payload.view();
    bytes += command.size();
    // It puts a whole state together from rows that have come before.
    if (is_aligned(command) && command_in(command).isRestoreFinish()) return true;
  }
  return commands.size() > quick_commands || bytes > quick_bytes;
}

std::vector<Outcome> StateFsm::apply(std::span<const Entry> entries, Index applied) {
  std::vector<Outcome> outcomes;
  std::vector<std::shared_ptr<const state::Outcome>> for_listener;
  outcomes.reserve(entries.size());
  const auto begun = MeasuringClock::now();
  for (const auto& entry : entries) {
    const auto bytes = entry.payload.view();
    if (!is_aligned(bytes)) {  // `check` has refused such bytes wherever they came from outside
      outcomes.push_back({misaligned(), entry.index, {}});
      continue;
    }
    const auto command = command_in(bytes);
    const auto one_begun = MeasuringClock::now();
    auto outcome = std::make_shared<const state::Outcome>(
        store_->apply(entry.index + store_->index_offset(), command));
    const auto kind = (command.isGuarded() ? command.getGuarded().getCommand() : command).which();
    if (kind < times_.size()) observe_since(times_[kind], one_begun);
    outcomes.push_back({outcome->error, outcome->index, outcome});
    if (outcome->concerns_leader()) for_listener.push_back(std::move(outcome));
  }
  store_->set_applied(applied + store_->index_offset());
  store_->publish();
  observe_since(batch_time_, begun);
  const std::lock_guard lock{mutex_};
  if (listener_ && !for_listener.empty()) listener_(std::move(for_listener));
  return outcomes;
}

std::unique_ptr<SnapshotSource> StateFsm::snapshot() const {
  return std::make_unique<StateSnapshot>(store_->snapshot());
}

Result<state::Tables> read_tables(SnapshotRows& rows) {
  const auto present = NOMAD_TRY(rows.tables());
  state::Restore restored;
  for (const auto& name : present) {
    const auto table = state::stored_table(name);
    if (!table && name != index_table)
      return Error{Errc::corrupt, "the snapshot's table \"" + name
                                      + "\" is unknown to this version: a newer one has made it"};
    NOMAD_TRY(rows.read(name, [&](std::string_view key, std::span<const std::byte> bytes) {
      if (table) return restored.row(*table, key, bytes);
      return key == offset_key ? restored.offset_row(bytes) : restored.index_row(bytes);
    }));
  }
  return restored.take();
}

Result<std::shared_ptr<PreparedState>> StateFsm::prepare(SnapshotRows& rows) const {
  auto tables = NOMAD_TRY(read_tables(rows));
  return std::shared_ptr<PreparedState>{std::make_shared<PreparedTables>(std::move(tables))};
}

void StateFsm::install(PreparedState& prepared, Index applied) {
  store_->replace(std::move(static_cast<PreparedTables&>(prepared).tables), applied);
}

}  // namespace nomad::raft
