// The logs of a job: whose lines, in which order, while it is followed, and for whom.
#include "actors/api/jobs/job_logs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

/// An agent whose node runs an allocation of "web", whose task "server" has written something.
struct Logged : ApiFixture {
  Logged() {
    state().register_node({.id = own_node});
    state().register_job({.id = "web"});
    state().place({{.id = own_alloc, .job = "web", .node = own_node}});
    report(schema::ClientStatus::RUNNING);
  }

  void report(schema::ClientStatus status, const std::string& id = own_alloc) {
    state().run([status, &id](auto command) {
      auto alloc = command.initAllocClientUpdate().initAllocations(1)[0];
      alloc.setId(text(id));
      alloc.setClientStatus(status);
      auto task = alloc.initTaskStates(1)[0];
      task.setKey("server");
      task.initValue().setStartedAt(1'700'000'000'000'000'000);
    });
  }

  void write(const std::string& file, const std::string& content) const {
    const auto path = directory.file("alloc/logs/server." + file);
    std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
    std::ofstream{path, std::ios::app} << content;
  }

  std::string lines(const std::string& query) {
    const auto answer = get("/v1/job/web/logs" + query);
    CHECK(answer.status == 200);
    return lines_of(answer.body);
  }

  static std::string lines_of(std::string_view frames) {
    std::string all;
    for (const auto frame : split(frames, '\n')) {
      if (frame.empty()) continue;
      const auto parsed = json::parse(frame).as_object();
      if (const auto* line = parsed.if_contains("Line"))
        all += std::string{line->as_string()} + ' ';
      if (parsed.contains("Error")) all += "(" + std::string{parsed.at("Error").as_string()} + ") ";
    }
    return all;
  }
};

/// What comes of a stream until it holds `until`; where it ends before, how is said behind it.
std::string read_until(net::ResponseStream& stream, std::string_view until) {
  std::string all;
  while (all.find(until) == std::string::npos) {
    const auto piece = stream.read(10s);
    if (!piece) return all + '(' + piece.error().what + ')';
    if (piece->empty()) return all + "(end)";
    all += *piece;
  }
  return all;
}

}  // namespace

TEST_CASE("job logs: each line with whose it is, of the outputs that are asked for") {
  Logged fixture;
  fixture.write("stdout.0", "one\ntwo\n");
  fixture.write("stderr.0", "bad\n");

  const auto answer = fixture.get("/v1/job/web/logs?tail=1");
  const auto frame = json::parse(answer.body).as_object();
  CHECK(frame.at("AllocID").as_string() == own_alloc.c_str());
  CHECK(frame.at("AllocName") == "web.api[0]");
  CHECK(frame.at("Task") == "server");
  CHECK(frame.at("Type") == "stdout");
  CHECK(frame.at("TimeBy") == "file");
  CHECK(frame.at("Line") == "two");
  CHECK(answer.header("Content-Type") == "application/x-ndjson");
  CHECK(fixture.lines("") == "one two ");
  CHECK(fixture.lines("?type=stderr") == "bad ");
  CHECK(fixture.lines("?type=all").size() == std::string{"one two bad "}.size());
  CHECK(fixture.lines("?grep=^t").starts_with("two"));
  CHECK(fixture.lines("?task=other").empty());
}

TEST_CASE("job logs: a task that has written nothing yet is no mistake, one that is gone is told") {
  Logged fixture;
  CHECK(fixture.lines("").empty());
  fixture.played->refusal = Error{Errc::not_found, "Unknown allocation"};
  CHECK(fixture.lines("") == "(Unknown allocation) ");
}

TEST_CASE(
    "job logs: what is beyond those read at once is read when they end, as it was asked for") {
  Logged fixture;
  fixture.write("stdout.0", "one\ntwo\n");
  const unsigned others = 60;  // newer, of which the node knows nothing
  for (unsigned i = 0; i < others; ++i) {
    const auto id = uuid(100 + i);
    fixture.state().place({{.id = id, .job = "web", .node = own_node}});
    fixture.report(schema::ClientStatus::RUNNING, id);
  }

  const auto all = fixture.lines("?tail=1");
  CHECK(all.ends_with(") two "));
  CHECK(all.find("one") == std::string::npos);
  CHECK(static_cast<unsigned>(std::ranges::count(all, '(')) == others);
}

TEST_CASE("job logs: who follows hears what comes, that all has been told, and the end") {
  Logged fixture;
  fixture.write("stdout.0", "one\n");
  auto client = fixture.client();
  auto stream = client.open({.target = "/v1/job/web/logs?follow=true"});
  REQUIRE(stream.has_value());
  const auto begin = read_until(*stream, "{\"Live\":true}\n");
  CHECK(Logged::lines_of(begin) == "one ");

  fixture.write("stdout.0", "two\n");
  CHECK(Logged::lines_of(read_until(*stream, "two")) == "two ");

  fixture.played->task_started = true;
  fixture.report(schema::ClientStatus::COMPLETE);
  fixture.state().deregister("web", false);
  fixture.played->refusal = Error{Errc::not_found, "gone"};
  const auto rest = read_until(*stream, "never");
  CHECK(rest.ends_with("(end)"));
  CHECK(rest.find("Error") == std::string::npos);
}

TEST_CASE("job logs: what is wrong with the request") {
  Logged fixture;
  const auto refused
      = [&](const std::string& query) { return fixture.refusal("/v1/job/web/logs" + query); };
  CHECK(refused("?type=both") == "400 type must be stdout, stderr or all, not \"both\"");
  CHECK(
      refused("?since=x")
      == "400 since must be a duration (\"15m\") or a time (\"2006-01-02T15:04:05Z\"), not \"x\"");
  CHECK(refused("?since=-1h") == "400 since can't be negative");
  CHECK(refused("?tail=x") == "400 tail must be a whole number from 0 on, not \"x\"");
  CHECK(refused("?tail=1000001") == "400 tail can be 1000000 at most");
  CHECK(refused("?origin=x") == "400 origin must be start or end");
  CHECK(refused("?grep=(").starts_with("400 grep: error parsing regexp: "));
  CHECK(refused("?follow=x").starts_with("400 failed to parse follow field to boolean: "));
  CHECK(refused("?namespace=*") == "400 the namespace of the job must be named");
  CHECK(fixture.refusal("/v1/job/none/logs") == "404 job not found");
}

TEST_CASE("job logs: an agent serves so many streams, and another when one has ended") {
  Logged fixture;
  fixture.write("stdout.0", "one\n");
  auto client = fixture.client();
  std::vector<net::ResponseStream> open;
  for (int i = 0; i < JobLogsParts::most_streams; ++i) {
    auto stream = client.open({.target = "/v1/job/web/logs?follow=true"});
    REQUIRE(stream.has_value());
    CHECK(read_until(*stream, "one").find("one") != std::string::npos);
    open.push_back(std::move(*stream));
  }

  CHECK(
      fixture.refusal("/v1/job/web/logs")
      == "429 the logs of 32 jobs are being read: end one stream, or read those of an allocation");
  open.pop_back();
  CHECK(test::eventually([&] { return fixture.get("/v1/job/web/logs").status == 200; }));
}
