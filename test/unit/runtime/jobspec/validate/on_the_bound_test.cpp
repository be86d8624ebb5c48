// Where rules have bounds: what lies on one is taken, the next value is refused.
#include <string>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "runtime/jobspec/validate/validate.hpp"
#include "test/unit/runtime/jobspec/cases.hpp"

using boost::json::object;
using namespace nomad::jobspec;

namespace {

struct Bound {
  std::string where;   ///< The block that gets the members: "job", "group" or "task".
  std::string on;      ///< Members of a JSON object, for a job that is taken.
  std::string beyond;  ///< Likewise, for one that is not.
  std::string told;    ///< Part of the error.
};

/// The mistakes of a small job with these members, one a line.
std::string mistakes_with(const std::string& where, const std::string& members) {
  auto job = small_job();
  auto& group = job.at("TaskGroups").at(0).as_object();
  auto& task = group.at("Tasks").at(0).as_object();
  task["LogConfig"] = {{"MaxFiles", 1}, {"MaxFileSizeMB", 1}};
  auto& block = where == "job" ? job : where == "group" ? group : task;
  const auto more = boost::json::parse('{' + members + '}').as_object();
  for (const auto& [name, value] : more)
    block[name] = value;
  std::string out;
  for (const auto& error : validate(admitted(job).job(), {.memory_oversubscription = true}).errors)
    out += error + '\n';
  return out;
}

void check_bounds(const std::vector<Bound>& bounds) {
  for (const auto& each : bounds) {
    const auto taken = mistakes_with(each.where, each.on);
    CHECK_MESSAGE(taken.empty(), each.on << ": " << taken);
    const auto refused = mistakes_with(each.where, each.beyond);
    CHECK_MESSAGE(refused.find(each.told) != std::string::npos, each.beyond << ": " << refused);
  }
}

std::string checked_service(const std::string& times) {
  return R"("Networks":[{"DynamicPorts":[{"Label":"http"}]}],"Services":[{"Name":"s",)"
         R"("Provider":"nomad","PortLabel":"http","Checks":[{"Type":"tcp",)"
         + times + "}]}]";
}

}  // namespace

TEST_CASE("bounds of rules: resources, logs and times of a task") {
  check_bounds({
      {"task", R"("Resources":{"CPU":1,"MemoryMB":10})", R"("Resources":{"CPU":1,"MemoryMB":9})",
       "minimum MemoryMB value is 10; got 9"},
      {"task", R"("Resources":{"CPU":1,"MemoryMB":10,"MemoryMaxMB":10})",
       R"("Resources":{"CPU":1,"MemoryMB":10,"MemoryMaxMB":9})", "MemoryMaxMB value (9)"},
      {"task", R"("LogConfig":{"MaxFiles":1,"MaxFileSizeMB":299})",
       R"("LogConfig":{"MaxFiles":1,"MaxFileSizeMB":300})", "log storage (300 MB)"},
      {"task", R"("KillTimeout":600000000000)", R"("KillTimeout":600000000001)", "KillTimout"},
      {"task", R"("Templates":[{"EmbeddedTmpl":"x","DestPath":"a","Wait":{"Min":5,"Max":5}}])",
       R"("Templates":[{"EmbeddedTmpl":"x","DestPath":"a","Wait":{"Min":6,"Max":5}}])",
       "wait min 6ns is greater than max 5ns"},
  });
}

TEST_CASE("bounds of rules: disk, ports and counts of a group") {
  check_bounds({
      {"group", R"("EphemeralDisk":{"SizeMB":10})", R"("EphemeralDisk":{"SizeMB":9})",
       "minimum DiskMB value is 10; got 9"},
      {"group", R"("Networks":[{"ReservedPorts":[{"Label":"a","Value":65535}]}])",
       R"("Networks":[{"ReservedPorts":[{"Label":"a","Value":65536}]}])", "65535"},
      {"group", R"("Networks":[{"Mode":"bridge","DynamicPorts":[{"Label":"a","To":65535}]}])",
       R"("Networks":[{"Mode":"bridge","DynamicPorts":[{"Label":"a","To":65536}]}])", "65535"},
      {"group", R"("Networks":[{"Mode":"bridge","DynamicPorts":[{"Label":"a","To":-1}]}])",
       R"("Networks":[{"Mode":"bridge","DynamicPorts":[{"Label":"a","To":-2}]}])", "-2"},
      {"group", R"("Count":2,"Scaling":{"Min":2,"Max":2})",
       R"("Count":1,"Scaling":{"Min":2,"Max":2})", "must not be less than minimum count"},
      {"group", R"("Count":2,"Scaling":{"Min":2,"Max":2})",
       R"("Count":3,"Scaling":{"Min":2,"Max":2})", "must not be greater than maximum count"},
      {"group", checked_service(R"("Interval":1000000000,"Timeout":1000000000)"),
       checked_service(R"("Interval":999999999,"Timeout":1000000000)"), "interval"},
      {"group", checked_service(R"("Interval":1000000000,"Timeout":1000000000)"),
       checked_service(R"("Interval":1000000000,"Timeout":999999999)"), "timeout"},
  });
}

TEST_CASE("bounds of rules: what follows a failure, an update or a drain") {
  const auto restart = [](const char* interval, const char* delay) {
    return std::string{R"("RestartPolicy":{"Attempts":1,"Mode":"fail","Interval":)"} + interval
           + R"(,"Delay":)" + delay + '}';
  };
  const auto reschedule = [](const char* interval, const char* delay) {
    return std::string{R"("ReschedulePolicy":{"Attempts":1,"Unlimited":false,)"
                       R"("DelayFunction":"constant","Interval":)"}
           + interval + R"(,"Delay":)" + delay + '}';
  };
  const auto update = [](const char* least, const char* healthy, const char* progress) {
    return std::string{R"("Update":{"MinHealthyTime":)"} + least + R"(,"HealthyDeadline":)"
           + healthy + R"(,"ProgressDeadline":)" + progress + '}';
  };
  check_bounds({
      {"group", restart("5000000000", "1"), restart("4999999999", "1"),
       "Interval can not be less than 5s"},
      {"group", restart("5000000000", "5000000000"), restart("5000000000", "5000000001"),
       "Nomad can't restart"},
      {"group", reschedule("15000000000", "5000000000"), reschedule("14999999999", "5000000000"),
       "15s"},
      {"group", reschedule("15000000000", "5000000000"), reschedule("15000000000", "4999999999"),
       "5s"},
      {"group", update("9", "10", "5000000000000"), update("10", "10", "5000000000000"),
       "Minimum healthy time must be less than healthy deadline"},
      {"group", update("1", "10000000000", "10000000001"),
       update("1", "10000000000", "10000000000"),
       "Healthy deadline must be less than progress deadline"},
      {"group",
       R"("Migrate":{"MaxParallel":1,"HealthCheck":"checks","MinHealthyTime":10,"HealthyDeadline":10})",
       R"("Migrate":{"MaxParallel":1,"HealthCheck":"checks","MinHealthyTime":11,"HealthyDeadline":10})",
       "MinHealthyTime must be less than HealthyDeadline"},
  });
}

TEST_CASE("bounds of rules: wishes where a job runs") {
  const auto affinity = [](const char* weight) {
    return std::string{R"("Affinities":[{"LTarget":"${node.class}","RTarget":"x","Operand":"=",)"
                       R"("Weight":)"}
           + weight + "}]";
  };
  const auto spread = [](const char* weight, const char* percent) {
    return std::string{R"("Spreads":[{"Attribute":"${node.datacenter}","Weight":)"} + weight
           + R"(,"SpreadTarget":[{"Value":"a","Percent":)" + percent + "}]}]";
  };
  check_bounds({
      {"job", affinity("100"), affinity("101"), "within the range [-100,100]"},
      {"job", affinity("-100"), affinity("-101"), "within the range [-100,100]"},
      {"job", spread("100", "100"), spread("101", "100"), "pread"},
      {"job", spread("1", "100"), spread("1", "101"), "ercent"},
  });
}
