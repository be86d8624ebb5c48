#include "test/simulation/cluster_jobs.hpp"

#include <chrono>
#include <cstdlib>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "runtime/object/draft.hpp"

namespace nomad::test {

using namespace std::chrono_literals;

namespace {

std::int64_t nanoseconds(std::chrono::nanoseconds time) {
  return time.count();
}

/// The number at the end of a job's id.
std::int64_t number_of(std::string_view id) {
  return std::strtoll(std::string{id.substr(id.rfind('-') + 1)}.c_str(), nullptr, 10);
}

/// Always the same of a job, so that nobody's right to preempt others comes without a cause.
std::int64_t priority_of(std::string_view id) {
  return 20 + 15 * (number_of(id) % 5);
}

void fill_job(schema::Job::Builder job, const std::string& id, const char* type) {
  job.setId(text(id));
  job.setName(text(id));
  job.setNamespace("default");
  job.setRegion("global");
  job.setType(type);
  job.setPriority(priority_of(id));
  job.setNodePool("default");
  job.initDatacenters(1).set(0, "*");
}

/// A third of the jobs show none, so that what starts without waiting for servers is met, too.
bool shows_identities(const std::string& id) {
  return number_of(id) % 3 != 1;
}

/// So are some that sign nothing by RS256.
bool shows_to_others(const std::string& id) {
  return number_of(id) % 3 == 2;
}

void fill_renewed(schema::Identity::Builder to, const char* name, const char* audience) {
  to.setName(name);
  to.setFile(true);
  to.initAudience(1).set(0, audience);
  to.setTtl(nanoseconds(identity_ttl));
}

/// The default one, one that is renewed and that Nomad itself takes, and one for others.
void show_identities(schema::Task::Builder task, bool to_others) {
  auto own = task.initIdentity();
  own.setName("default");
  own.setEnv(true);
  own.setFile(true);
  auto named = task.initIdentities(to_others ? 2 : 1);
  fill_renewed(named[0], renewed_identity, "nomadproject.io");
  if (to_others) fill_renewed(named[1], others_identity, "third.example");
}

/// `config` is what the driver sim gets; a container gets it as the argument of its command.
void fill_task(schema::Task::Builder task, const std::string& id, const std::string& config) {
  task.setName("task");
  if (number_of(id) % 2 == 0) {
    task.setDriver("sim");
    task.setConfig(text(config));
    return;
  }
  boost::json::object container{
      {"image", "task:1"}, {"command", "run"}, {"args", boost::json::array{config}}};
  task.setDriver("docker");
  task.setConfig(text(boost::json::serialize(container)));
}

void fill_group(schema::TaskGroup::Builder group,
                const std::string& id,
                std::int64_t count,
                const std::string& config) {
  group.setName("group");
  group.setCount(count);
  group.initEphemeralDisk().setSizeMb(10);
  auto restart = group.initRestartPolicy();
  restart.setAttempts(2);
  restart.setInterval(nanoseconds(10s));
  restart.setDelay(nanoseconds(500ms));
  restart.setMode("fail");
  auto reschedule = group.initReschedulePolicy();
  reschedule.setDelay(nanoseconds(5s));
  reschedule.setDelayFunction("constant");
  reschedule.setMaxDelay(nanoseconds(10s));
  reschedule.setUnlimited(true);
  auto task = group.initTasks(1)[0];
  fill_task(task, id, config);
  if (shows_identities(id)) show_identities(task, shows_to_others(id));
  task.setKillTimeout(nanoseconds(3s));
  auto resources = task.initResources();
  resources.setCpu(200);
  resources.setMemoryMb(100);
}

/// A fifth fails after a while, half of these too soon and too often to be restarted; the others
/// run for ever.
std::string config_of_service(Random& random) {
  if (random.chance(0.2))
    return fmt::format(R"({{"run_for":{},"exit":1}})",
                       500 + random.below(random.chance(0.5) ? 2'000 : 20'000));
  return fmt::format(R"({{"version":{}}})", random.below(3));
}

/// Nodes have room for three to fifteen of these.
void draw_size(schema::TaskGroup::Builder group, Random& random) {
  group.getTasks()[0].getResources().setCpu(100 * (1 + static_cast<std::int64_t>(random.below(5))));
}

void set_update(schema::UpdateStrategy::Builder update,
                std::int64_t max_parallel,
                std::chrono::nanoseconds healthy_time) {
  update.setStagger(nanoseconds(1s));
  update.setMaxParallel(max_parallel);
  update.setHealthCheck("task_states");
  update.setMinHealthyTime(nanoseconds(healthy_time));
  update.setHealthyDeadline(nanoseconds(10s));
  update.setProgressDeadline(nanoseconds(20s));
}

}  // namespace

Object<schema::Job> register_job(const std::string& id, std::uint64_t value) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "batch");
  draft->initParameterizedJob().setPayload("optional");
  auto meta = draft->initMeta(1)[0];
  meta.setKey("value");
  meta.setValue(text(std::to_string(value)));
  auto group = draft->initTaskGroups(1)[0];
  fill_group(group, id, 1, "{}");
  group.getTasks()[0].disownIdentity();
  group.getTasks()[0].disownIdentities();
  group.getEphemeralDisk().setSizeMb(300);  // the API wants room for the logs
  return draft.freeze();
}

std::uint64_t register_value(schema::Job::Reader job) {
  for (const auto entry : job.getMeta())
    if (view(entry.getKey()) == "value")
      return std::strtoull(copy(entry.getValue()).c_str(), nullptr, 10);
  return 0;
}

bool has_distinct_hosts(std::string_view id) {
  return id.starts_with("service-") && number_of(id) % 5 == 2;
}

Object<schema::Job> service_job(const std::string& id, Random& random) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "service");
  const auto config = config_of_service(random);
  auto group = draft->initTaskGroups(1)[0];
  // There are five nodes mostly: whoever wants one for each may want more than there are.
  const auto least = has_distinct_hosts(id) ? 3 : 0;
  fill_group(group, id, least + static_cast<std::int64_t>(random.below(5)), config);
  draw_size(group, random);
  if (has_distinct_hosts(id)) group.initConstraints(1)[0].setOperand("distinct_hosts");
  auto migrate = group.initMigrate();
  migrate.setMaxParallel(static_cast<std::int64_t>(random.below(3)));
  migrate.setHealthCheck("task_states");
  migrate.setMinHealthyTime(nanoseconds(500ms));
  migrate.setHealthyDeadline(nanoseconds(10s));
  if (random.chance(0.6)) {
    auto update = group.initUpdate();
    const auto healthy_for = 500ms + random.below(4) * 700ms;
    set_update(update, 1 + static_cast<std::int64_t>(random.below(2)), healthy_for);
    update.setAutoRevert(random.chance(0.3));
    if (random.chance(0.4)) {
      update.setCanary(1 + static_cast<std::int64_t>(random.below(2)));
      update.setAutoPromote(random.chance(0.3));
    }
  }
  return draft.freeze();
}

Object<schema::Job> system_job(const std::string& id, Random& random) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "system");
  if (random.chance(0.6)) set_update(draft->initUpdate(), 1, 500ms);
  auto group = draft->initTaskGroups(1)[0];
  const auto config = fmt::format(R"({{"version":{}}})", random.below(3));
  fill_group(group, id, random.chance(0.9) ? 1 : 0, config);
  group.disownReschedulePolicy();  // of system jobs nothing is rescheduled
  return draft.freeze();
}

Object<schema::Job> sysbatch_job(const std::string& id, Random& random) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "sysbatch");
  auto group = draft->initTaskGroups(1)[0];
  const int exit_code = random.chance(0.1) ? 1 : 0;
  fill_group(group, id, 1,
             fmt::format(R"({{"run_for":{},"exit":{}}})", 200 + random.below(4'000), exit_code));
  group.disownReschedulePolicy();
  return draft.freeze();
}

Object<schema::Job> periodic_job(const std::string& id, Random& random) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "batch");
  auto periodic = draft->initPeriodic();
  periodic.setEnabled(true);
  periodic.setSpec("*/3 * * * * * *");
  periodic.setSpecType("cron");
  periodic.setTimeZone("UTC");
  periodic.setProhibitOverlap(random.chance(0.5));
  fill_group(draft->initTaskGroups(1)[0], id, 1,
             fmt::format(R"({{"run_for":{}}})", 200 + random.below(5'000)));
  return draft.freeze();
}

Object<schema::Job> parameterized_job(const std::string& id, Random& random) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "batch");
  draft->initParameterizedJob().setPayload("optional");
  fill_group(draft->initTaskGroups(1)[0], id, 1,
             fmt::format(R"({{"run_for":{}}})", 200 + random.below(5'000)));
  return draft.freeze();
}

Object<schema::Job> batch_job(const std::string& id, Random& random) {
  Draft<schema::Job> draft;
  fill_job(*draft, id, "batch");
  auto group = draft->initTaskGroups(1)[0];
  const int exit_code = random.chance(0.2) ? 1 : 0;
  const auto config
      = fmt::format(R"({{"run_for":{},"exit":{}}})", 200 + random.below(8'000), exit_code);
  fill_group(group, id, 1 + static_cast<std::int64_t>(random.below(3)), config);
  draw_size(group, random);
  auto reschedule = group.getReschedulePolicy();
  reschedule.setUnlimited(false);
  reschedule.setAttempts(1);
  reschedule.setInterval(nanoseconds(1h));
  return draft.freeze();
}

}  // namespace nomad::test
