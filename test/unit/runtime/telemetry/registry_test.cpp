#include "runtime/telemetry/registry.hpp"

#include <thread>

#include <boost/json.hpp>
#include <doctest/doctest.h>

using nomad::telemetry::Gauges;
using nomad::telemetry::Registry;

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t start = 1'795'000'000 * second;

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("registry: shows the last whole interval") {
  Registry registry{{.prefix = "nomad", .host = "h1"}};
  registry.advance(start);
  auto& counter = registry.counter("rpc.request");
  for (const double amount : {1.0, 2.0, 3.0})
    counter.add(amount);
  registry.add_collector([](Gauges& gauges) {
    gauges.set("runtime.alloc_bytes", 0.5, {{"node", "n"}});
  });

  auto now = boost::json::parse(registry.json(start + second)).as_object();
  CHECK(now["Counters"].as_array().size() == 1);  // nothing whole yet: the current one
  CHECK(now["Timestamp"] == "2026-11-18 11:06:40 +0000 UTC");

  auto then = boost::json::parse(registry.json(start + 10 * second)).as_object();
  const auto& shown = then["Counters"].as_array().at(0).as_object();
  CHECK(shown.at("Name") == "nomad.rpc.request");
  CHECK(shown.at("Labels") == boost::json::object{{"host", "h1"}});
  CHECK(shown.at("Count") == 3);
  CHECK(shown.at("Sum") == 6.0);
  CHECK(shown.at("Rate") == 0.6);
  CHECK(shown.at("Min") == 1.0);
  CHECK(shown.at("Max") == 3.0);
  CHECK(shown.at("Mean") == 2.0);
  CHECK(shown.at("Stddev") == 1.0);
  CHECK(then["Gauges"].as_array().at(0).as_object().at("Labels")
        == boost::json::object{{"host", "h1"}, {"node", "n"}});
  CHECK(then["Timestamp"] == "2026-11-18 11:06:40 +0000 UTC");

  auto later = boost::json::parse(registry.json(start + 35 * second)).as_object();
  CHECK(later["Counters"].as_array().empty());
  CHECK(later["Gauges"].as_array().size() == 1);
  CHECK(later["Samples"].as_array().empty());
}

TEST_CASE("registry: Prometheus sees running totals and quantiles") {
  Registry registry{{.prefix = "nomad"}};
  registry.advance(start);
  registry.counter("client.allocs.start", {{"job", "a\"b\\c"}}).add(2);
  registry.counter("client.allocs.start", {{"job", "z"}}).add(3);
  auto& sample = registry.sample("raft.apply-time");
  for (int i = 1; i <= 100; ++i)
    sample.observe(i);
  registry.advance(start + 10 * second);
  registry.counter("client.allocs.start", {{"job", "z"}}).add(4);

  const auto text = registry.prometheus(start + 11 * second);

  CHECK(has_line(text, "# TYPE nomad_client_allocs_start counter"));
  CHECK(has_line(text, R"(nomad_client_allocs_start{job="a\"b\\c"} 2)"));
  CHECK(has_line(text, R"(nomad_client_allocs_start{job="z"} 7)"));
  CHECK(text.find("# TYPE nomad_client_allocs_start")
        == text.rfind("# TYPE nomad_client_allocs_start"));
  CHECK(has_line(text, R"(nomad_raft_apply_time{quantile="0.5"} 51)"));
  CHECK(has_line(text, R"(nomad_raft_apply_time{quantile="0.99"} 99)"));
  CHECK(has_line(text, "nomad_raft_apply_time_sum 5050"));
  CHECK(has_line(text, "nomad_raft_apply_time_count 100"));
  CHECK(registry.prometheus(start + 60 * second).find("quantile=\"0.5\"} NaN")
        != std::string::npos);
}

TEST_CASE("registry: gauges are told anew for each answer, and nothing of them stays") {
  Registry registry{{.prefix = ""}};
  std::vector<std::string> jobs{"a", "b"};
  registry.add_collector([&jobs](Gauges& gauges) {
    gauges.set("uptime", 6);
    gauges.set("uptime", 7);
    for (const auto& job : jobs)
      gauges.set("job", 1, {{"id", job}});
  });

  const auto more = [](Gauges& gauges) { gauges.set("asked", 1); };
  auto text = registry.prometheus(start, more);
  CHECK(has_line(text, "uptime 7"));
  CHECK(has_line(text, "asked 1"));
  CHECK(has_line(text, R"(job{id="a"} 1)"));
  jobs = {"c"};
  text = registry.prometheus(start);
  CHECK(has_line(text, R"(job{id="c"} 1)"));
  CHECK(text.find("id=\"a\"") == std::string::npos);
  CHECK(text.find("asked") == std::string::npos);
  CHECK(boost::json::parse(registry.json(start)).at("Gauges").as_array().size() == 2);
}

TEST_CASE("registry: a counter of what has ended is shown once more, and then no longer") {
  Registry registry{{}};
  constexpr std::int64_t second = 1'000'000'000;
  auto held = registry.passing_counter("tasks.failed", {{"task", "a"}});
  registry.counter("jobs").add();
  held->add(2);
  CHECK(registry.passing_counter("tasks.failed", {{"task", "a"}}) == held);
  const auto shown = [&registry](std::int64_t at) {
    return registry.prometheus(at * second).find("nomad_tasks_failed{task=\"a\"} 2\n")
           != std::string::npos;
  };
  CHECK(shown(100));
  CHECK(shown(130));  // held, and quiet
  held->add(0);
  held.reset();
  CHECK(shown(131));
  CHECK(shown(140));
  CHECK(registry.json(140 * second).find("tasks.failed") != std::string::npos);
  CHECK_FALSE(shown(150));
  CHECK(registry.prometheus(200 * second).find("nomad_jobs 1\n") != std::string::npos);
}

TEST_CASE("registry: is used from many threads at once") {
  Registry registry{{.prefix = "t"}};
  registry.advance(start);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&registry] {
      for (int n = 0; n < 1000; ++n) {
        registry.counter("c").add();
        registry.sample("s", {{"n", std::to_string(n % 5)}}).observe(n);
        if (n % 100 == 0) CHECK(registry.json(start).size() > 10);
      }
    });
  for (auto& thread : threads)
    thread.join();

  CHECK(has_line(registry.prometheus(start), "t_c 4000"));
}
