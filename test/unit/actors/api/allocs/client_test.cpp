// What the client node does: actions on allocations, stats, files, logs; and the agent itself.
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "runtime/base/log.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/busy_looks.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::api;
using namespace std::chrono_literals;
namespace json = boost::json;

namespace {

const std::string alloc_path = "/v1/client/allocation/" + own_alloc;

std::string fs(const std::string& operation, const std::string& query = "") {
  return "/v1/client/fs/" + operation + '/' + own_alloc + query;
}

void write(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
  std::ofstream{path, std::ios::app} << content;
}

/// The data of concatenated frames, decoded; heartbeats are passed over.
std::string read_frames(net::ResponseStream& stream, const std::string& until) {
  std::string all;
  std::string data;
  while (all.find(until) == std::string::npos) {
    const auto piece = stream.read(10s);
    if (!piece || piece->empty()) break;
    all += *piece;
  }
  return all;
}

}  // namespace

TEST_CASE("client: restart, signal and gc reach the client") {
  ApiFixture fixture;

  CHECK(fixture.send("PUT", alloc_path + "/restart").body == R"({"Index":0})");
  CHECK(fixture.send("PUT", alloc_path + "/restart", R"({"TaskName":"server"})").status == 200);
  CHECK(fixture.send("PUT", alloc_path + "/restart", R"({"AllTasks":true})").status == 200);
  const auto& asked = fixture.played->asked;
  CHECK(view(asked.at(1)->getRestartTasks().getTask()) == "server");
  CHECK(asked.at(2)->getRestartTasks().getAll());
  CHECK(asked.at(2).subject() == own_node);
  CHECK(fixture.send("PUT", alloc_path + "/signal", R"({"Signal":"SIGHUP","Task":"server"})").status
        == 200);
  CHECK(view(asked.at(3)->getSignalTasks().getSignal()) == "SIGHUP");
  CHECK(fixture.refusal("PUT", alloc_path + "/signal", "")
        == "400 Failed to decode body: Request body is empty");
  CHECK(fixture.get(alloc_path + "/gc").body == "");
  CHECK(fixture.refusal("/v1/client/allocation/" + uuid(5) + "/stats")
        == "404 Unknown allocation \"" + uuid(5) + '"');
  CHECK(fixture.refusal("/v1/client/allocation/x/y/stats") == "404 resource not found");
  CHECK(fixture.refusal(alloc_path + "/dance") == "404 resource not found");
  CHECK(fixture.get("/v1/client/gc").status == 200);
}

TEST_CASE("client: nothing measured yet is no usage, but the object is there") {
  ApiFixture fixture;
  fixture.played->task_started = false;
  CHECK(fixture.get(alloc_path + "/stats").body
        == R"({"ResourceUsage":{"CpuStats":{"Measured":null,"Percent":0.0,"SystemMode":0.0,)"
           R"("ThrottledPeriods":0,"ThrottledTime":0,"TotalTicks":0.0,"UserMode":0.0},)"
           R"("DeviceStats":[],"MemoryStats":{"Cache":0,"KernelMaxUsage":0,"KernelUsage":0,)"
           R"("MappedFile":0,"MaxUsage":0,"Measured":null,"RSS":0,"Swap":0,"Usage":0}},)"
           R"("Tasks":{},"Timestamp":0})");
}

TEST_CASE("client: identities by whose, for whom and until when") {
  ApiFixture fixture;
  const auto path = alloc_path + "/identities";
  CHECK(fixture.get(path).body == "[]");
  fixture.played->identities = {{.task = "web", .service = "", .name = "", .issued_at = 5},
                                {.task = "web",
                                 .service = "front",
                                 .name = "consul",
                                 .audience = {"a", "b"},
                                 .issued_at = 5,
                                 .expires_at = 12}};
  CHECK(
      fixture.get(path).body
      == R"([{"Audience":[],"ExpiresAt":0,"IssuedAt":5,"Name":"default","Service":"","Task":"web"},)"
         R"({"Audience":["a","b"],"ExpiresAt":12,"IssuedAt":5,"Name":"consul","Service":"front",)"
         R"("Task":"web"}])");
  CHECK(fixture.send("PUT", path).status == 405);
}

TEST_CASE("client: the schedule of a task is read and overridden") {
  using schema::TaskScheduleOrder;
  ApiFixture fixture;
  const auto path = alloc_path + "/pause";
  CHECK(fixture.get(path + "?task=server").body == R"({"ScheduleState":"scheduled_pause"})");
  CHECK(view(fixture.played->asked.back()->getReadPause()) == "server");

  const std::pair<const char*, TaskScheduleOrder> orders[]
      = {{"pause", TaskScheduleOrder::PAUSE},
         {"run", TaskScheduleOrder::RUN},
         {"scheduled", TaskScheduleOrder::SCHEDULED}};
  for (const auto& [name, order] : orders) {
    CHECK(fixture
              .send("PUT", path,
                    R"({"Task":"server","ScheduleState":")" + std::string{name} + R"("})")
              .body
          == R"({"Index":0})");
    const auto asked = fixture.played->asked.back()->getPauseTask();
    CHECK(view(asked.getTask()) == "server");
    CHECK(asked.getOrder() == order);
  }

  CHECK(fixture.refusal(path) == "400 task name must be set");
  CHECK(fixture.refusal("PUT", path, R"({"ScheduleState":"run"})") == "400 task name must be set");
  CHECK(fixture.refusal("PUT", path, R"({"Task":"server","ScheduleState":"force_run"})")
        == "400 Not a valid task schedule state");
  CHECK(fixture.send("DELETE", path).status == 405);
}

TEST_CASE("client: results of checks by id, and null without any") {
  ApiFixture fixture;
  for (const auto& path : {alloc_path + "/checks", "/v1/allocation/" + own_alloc + "/checks"}) {
    fixture.played->checks = {};
    CHECK(fixture.get(path).body == "null");
    fixture.played->checks.checks = {{.id = "b1",
                                      .check = "alive",
                                      .group = "web.front[0]",
                                      .task = "",
                                      .service = "web",
                                      .mode = "healthiness",
                                      .status = "success",
                                      .output = "nomad: tcp ok",
                                      .timestamp = 77},
                                     {.id = "a2",
                                      .check = "ready",
                                      .group = "web.front[0]",
                                      .task = "server",
                                      .service = "web",
                                      .mode = "readiness",
                                      .status = "failure",
                                      .status_code = 503,
                                      .output = "not \"yet\"\n",
                                      .timestamp = 78}};
    CHECK(fixture.get(path).body
          == R"({"b1":{"Check":"alive","Group":"web.front[0]","ID":"b1","Mode":"healthiness",)"
             R"("Output":"nomad: tcp ok","Service":"web","Status":"success","Timestamp":77},)"
             R"("a2":{"Check":"ready","Group":"web.front[0]","ID":"a2","Mode":"readiness",)"
             R"("Output":"not \"yet\"\n","Service":"web","Status":"failure","StatusCode":503,)"
             R"("Task":"server","Timestamp":78}})");
  }
}

TEST_CASE("client: the past of an allocation's tasks, with what to reserve instead") {
  ApiFixture fixture;
  const auto path = "/v1/client/metrics/history?alloc_id=" + own_alloc;

  CHECK(fixture.get(path + "&task=server").body
        == R"([{"Advice":[{"Resource":"memory","Unit":"MiB","Reserved":300,"Used":41,)"
           R"("Suggested":50,"Text":"reserve less"}],)"
           R"("P95":{"CPU":12.5,"Memory":43000000.0,"Seconds":21600},)"
           R"("Reserved":{"CPU":100,"MemoryMB":300},"RestartTimes":[77],"Restarts":2,)"
           R"("Series":[{"Interval":10,"End":1700000010,"CPU":[12.3,null],)"
           R"("Memory":[50000000,null],"Network":[null,null]}],"Task":"server"}])");
  CHECK(view(fixture.played->asked.back()->getReadUsageHistory()) == "server");
  CHECK(fixture.refusal("/v1/client/metrics/history?alloc_id=" + uuid(5))
        == "404 Unknown allocation \"" + uuid(5) + '"');
  CHECK(fixture.refusal("/v1/client/metrics/history?alloc_id=zz").starts_with("400 "));
  CHECK(fixture.refusal(path + "&node_id=" + own_node)
        == "400 history is of a node or of an allocation: give node_id or alloc_id");
}

TEST_CASE("client: the past of a node") {
  ApiFixture fixture;
  for (const auto& query : {std::string{}, "?node_id=" + own_node}) {
    const auto list = fixture.json("/v1/client/metrics/history" + query);
    CHECK(texts_of(list, "Task").empty());
    CHECK(list.at(0).at("Series").at(0).at("End") == 1'700'000'010);
  }
  CHECK(fixture.refusal("/v1/client/metrics/history?node_id=" + uuid(9))
        == "404 Unknown node " + uuid(9));
}

TEST_CASE("client: usage of allocations and of the host") {
  ApiFixture fixture;

  const auto stats = fixture.json(alloc_path + "/stats").as_object();
  const auto& task = stats.at("Tasks").as_object().at("server").as_object();
  CHECK(task.at("ResourceUsage").as_object().at("MemoryStats").as_object().at("RSS") == 4096);
  CHECK(task.at("Pids").as_object().contains("7"));
  CHECK(stats.at("ResourceUsage").as_object().at("CpuStats").as_object().at("Percent") == 1.5);
  CHECK(stats.at("Timestamp") == 77);

  const auto host = fixture.json("/v1/client/stats?node_id=" + own_node).as_object();
  CHECK(host.at("Memory").as_object().at("Total") == 1 << 20);
  CHECK(host.at("CPU").as_array().at(0).as_object().at("TotalPercent") == 3.0);
  CHECK(host.at("DiskStats").as_array().size() == 1);
  CHECK(fixture.refusal("/v1/client/stats?node_id=" + uuid(7)) == "404 Unknown node " + uuid(7));
  fixture.state().register_node({.id = uuid(7)});
  CHECK(fixture.refusal("/v1/client/stats?node_id=" + uuid(7)) == "404 No path to node");
}

TEST_CASE("client: metadata of the node is read and changed") {
  ApiFixture fixture;
  const std::string path = "/v1/client/metadata";

  CHECK(fixture.get(path).body
        == R"({"Dynamic":{"rack":"r2","zone":null},"Meta":{"rack":"r2"},"Static":{"zone":"a"}})");
  CHECK(fixture.get(path + "?node_id=" + own_node).status == 200);
  CHECK(fixture.send("POST", path, R"({"Meta":{"a.b":"1","zone":null,"e":""}})").body
        == R"({"Dynamic":{"a.b":"1","e":"","zone":null},"Meta":{},"Static":{}})");
  CHECK(fixture.send("PUT", path, R"({"NodeID":")" + own_node + R"(","Meta":{"a":"1"}})").status
        == 200);
  CHECK(fixture.refusal("PUT", path, R"({"NodeID":")" + uuid(7) + R"(","Meta":{"a":"1"}})")
        == "404 Unknown node " + uuid(7));
  CHECK(fixture.refusal(path + "?node_id=" + uuid(7)) == "404 Unknown node " + uuid(7));
  CHECK(fixture.refusal("PUT", path, R"({"Meta":{"a":1}})")
        == "400 metadata \"a\": expected a text, or null");
  CHECK(fixture.refusal("PUT", path, R"({"Meta":[1]})").starts_with("400 json: cannot unmarshal"));
  CHECK(fixture.refusal("PUT", path, "") == "400 Request body is empty");
}

TEST_CASE("files: listing, reading and its refusals") {
  ApiFixture fixture;
  write(fixture.directory.file("server/local/page.html"), "<html>hi</html>");
  write(fixture.directory.file("server/secrets/token"), "hush");
  write(fixture.directory.file("alloc/big"), std::string(3'000'000, 'b'));
  std::filesystem::create_symlink("/etc/passwd", fixture.directory.file("server/leak"));
  ::mkfifo(fixture.directory.file("server/pipe").c_str(), 0600);

  CHECK(texts_of(fixture.json(fs("ls")), "Name") == "alloc,server");
  CHECK(texts_of(fixture.json(fs("ls", "?path=server/local")), "Name") == "page.html");
  const auto stat = fixture.json(fs("stat", "?path=alloc/big")).as_object();
  CHECK(stat.at("Size") == 3'000'000);
  CHECK(stat.at("IsDir") == false);
  CHECK(stat.contains("ContentType"));
  CHECK(fixture.refusal(fs("stat")) == "400 must provide a file name");
  CHECK(fixture.get(fs("stat", "?path=nope")).status == 404);
  CHECK(fixture.refusal("/v1/client/fs/ls/") == "400 must provide a valid alloc id");
  CHECK(fixture.refusal("/v1/client/fs/dance/x") == "404 Invalid method");
  CHECK(fixture.refusal("/v1/client/fs/ls/" + uuid(3)).starts_with("404 Unknown allocation"));

  const auto page = fixture.get(fs("cat", "?path=server/local/page.html"));
  CHECK(page.body == "<html>hi</html>");
  CHECK(page.header("Content-Type") == "text/plain");
  CHECK(page.header("X-Content-Type-Options") == "nosniff");
  CHECK(page.header("Content-Security-Policy") != "");
  CHECK(fixture.get(fs("cat", "?path=alloc/big")).body == std::string(3'000'000, 'b'));
  CHECK(fixture.get(fs("readat", "?path=server/local/page.html&offset=6&limit=2")).body == "hi");
  CHECK(fixture.get(fs("readat", "?path=alloc/big&offset=100&limit=2500000")).body.size()
        == 2'500'000);
  CHECK(fixture.get(fs("readat", "?path=alloc/big&offset=9000000")).body == "");
  CHECK(fixture.refusal(fs("readat", "?path=alloc/big")).starts_with("400 error parsing offset: "));

  CHECK(fixture.refusal(fs("cat", "?path=../../etc/passwd"))
        == "400 Path escapes the alloc directory");
  CHECK(fixture.get(fs("cat", "?path=server/leak")).status >= 400);
  CHECK(fixture.refusal(fs("cat", "?path=server/secrets/token"))
        == "400 Reading secret file prohibited: server/secrets/token");
  CHECK(fixture.get(fs("cat", "?path=server/pipe")).status == 400);
  CHECK(fixture.get(fs("stream", "?path=server/pipe")).status == 400);
}

TEST_CASE("files: a directory is listed in pages") {
  ApiFixture fixture;
  for (int i = 0; i < 5; ++i)
    write(fixture.directory.file("alloc/many/n" + std::to_string(i)), "x");

  const auto first = fixture.get(fs("ls", "?path=alloc/many&per_page=2"));
  CHECK(first.header("X-Nomad-NextToken") == "n2");
  CHECK(texts_of(fixture.json(fs("ls", "?path=alloc/many&per_page=2&next_token=n2")), "Name")
        == "n2,n3");
  const auto last = fixture.get(fs("ls", "?path=alloc/many&per_page=2&next_token=n4"));
  CHECK(last.header("X-Nomad-NextToken") == "");
  CHECK(texts_of(fixture.json(fs("ls", "?path=alloc/many")), "Name") == "n0,n1,n2,n3,n4");
}

TEST_CASE("logs: are read however full their folder is") {
  ApiFixture fixture;
  write(fixture.directory.file("alloc/logs/server.stdout.0"), "one\n");
  for (int i = 0; i < 2'000; ++i)
    write(fixture.directory.file("alloc/logs/other." + std::to_string(i)), "");

  CHECK(fixture.get(fs("logs", "?task=server&type=stdout&plain=true")).body == "one\n");
  CHECK(fixture.get(fs("stat", "?path=alloc/logs/server.stdout.0")).status == 200);
  CHECK(texts_of(fixture.json(fs("ls", "?path=alloc/logs&per_page=1")), "Name") == "other.0");
}

TEST_CASE("logs: whole, from the end, framed and followed over a rotation") {
  ApiFixture fixture;
  const auto log = fixture.directory.file("alloc/logs/server.stdout.0");
  write(log, "one\ntwo\n");
  const auto logs
      = [](const std::string& query) { return fs("logs", "?task=server&type=stdout" + query); };

  CHECK(fixture.get(logs("&plain=true")).body == "one\ntwo\n");
  CHECK(fixture.get(logs("&plain=true")).header("Content-Type") == "text/plain");
  CHECK(fixture.get(logs("&plain=true&origin=end&offset=4")).body == "two\n");
  CHECK(fixture.get(logs("")).body
        == R"({"Data":"b25lCnR3bwo=","File":"alloc/logs/server.stdout.0","Offset":8})");

  auto client = fixture.client();
  auto followed = client.open({.target = logs("&follow=true&origin=end")});
  REQUIRE(followed.has_value());
  CHECK(read_frames(*followed, "b25lCnR3bwo=").find("\"Offset\":8") != std::string::npos);
  write(log, "three\n");
  CHECK(read_frames(*followed, "dGhyZWUK").find("\"Offset\":14") != std::string::npos);
  write(fixture.directory.file("alloc/logs/server.stdout.1"), "four\n");
  CHECK(read_frames(*followed, "Zm91cgo=").find("server.stdout.1") != std::string::npos);
  CHECK(read_frames(*followed, "{}") == "{}");           // a heartbeat each second
  const std::lock_guard silence{fixture.played->guard};  // the node answers nothing meanwhile
  CHECK(read_frames(*followed, "{}{}") == "{}{}");
}

TEST_CASE("logs: who may not read them any more has seen the last of what he follows") {
  const auto index = std::make_shared<std::atomic<std::uint64_t>>(1);
  ApiFixture fixture{
      [index](ApiOptions& options) { options.authenticator = test::until_revoked(index); }};
  const auto log = fixture.directory.file("alloc/logs/server.stdout.0");
  write(log, "one\n");
  auto client = fixture.client();
  auto followed = client.open({.target = fs("logs", "?task=server&type=stdout&follow=true")});
  REQUIRE(followed.has_value());
  CHECK(read_frames(*followed, "b25lCg==").find("\"Offset\":4") != std::string::npos);
  *index = 2;
  auto piece = followed->read(10s);
  while (piece && !piece->empty())
    piece = followed->read(10s);
  REQUIRE(piece.has_value());  // a proper end
}

TEST_CASE("logs: are followed though nobody has time to look at the reader's rights") {
  const auto looks = std::make_shared<BusyLooks>();
  ApiFixture fixture{[looks](ApiOptions& options) { BusyLooks::judge_by(looks, options); }};
  const auto log = fixture.directory.file("alloc/logs/server.stdout.0");
  write(log, "one\n");
  auto client = fixture.client();
  auto followed = client.open({.target = fs("logs", "?task=server&type=stdout&follow=true")});
  REQUIRE(followed.has_value());
  CHECK(read_frames(*followed, "b25lCg==").find("\"Offset\":4") != std::string::npos);
  REQUIRE(looks->are_refused());
  CHECK(read_frames(*followed, "{}") == "{}");
  looks->index = 3;
  auto piece = followed->read(10s);
  while (piece && !piece->empty())
    piece = followed->read(10s);
  REQUIRE(piece.has_value());
}

TEST_CASE("logs: refusals") {
  ApiFixture fixture;
  const auto logs = [](const std::string& query) { return fs("logs", query); };

  CHECK(fixture.refusal(logs("?type=stdout")) == "400 must provide task name");
  CHECK(fixture.refusal(logs("?task=server")) == "400 must provide log type (stdout/stderr)");
  CHECK(fixture.refusal(logs("?task=server&type=x"))
        == "400 must provide log type (stdout/stderr)");
  CHECK(fixture.refusal(logs("?task=server&type=stdout&origin=middle"))
        == "400 origin must be start or end");
  CHECK(fixture.refusal(logs("?task=server&type=stdout&follow=x"))
            .starts_with("400 failed to parse follow field to boolean: "));
  CHECK(fixture.refusal(logs("?task=zz&type=stdout")) == "400 unknown task name \"zz\"");
  CHECK(fixture.refusal(logs("?task=server&type=stdout"))
        == "404 log entry for task \"server\" and log type \"stdout\" not found");
  {
    const std::lock_guard lock{fixture.played->guard};
    fixture.played->task_started = false;
  }
  CHECK(fixture.refusal(logs("?task=server&type=stdout"))
        == "404 task \"server\" not started yet. No logs available");
}

TEST_CASE("files: a stream follows by default, and a vanished reader ends it") {
  ApiFixture fixture;
  write(fixture.directory.file("alloc/f"), "start");
  {
    auto client = fixture.client();
    auto stream = client.open({.target = fs("stream", "?path=alloc/f")});
    REQUIRE(stream.has_value());
    CHECK(read_frames(*stream, "c3RhcnQ=").find("\"File\":\"alloc/f\"") != std::string::npos);
    write(fixture.directory.file("alloc/f"), " more");
    CHECK(read_frames(*stream, "IG1vcmU=").find("\"Offset\":10") != std::string::npos);
  }
  CHECK(fixture.get(fs("stream", "?path=alloc/f&follow=false&offset=2&origin=end")).body
        == R"({"Data":"cmU=","File":"alloc/f","Offset":10})");
}

TEST_CASE("agent: self, health, members and the cluster's status") {
  ApiFixture fixture;

  const auto self = fixture.json("/v1/agent/self").as_object();
  CHECK(self.at("config").as_object().at("Region") == "global");
  CHECK(self.at("member").as_object().at("Tags").as_object().at("build") == "1.6.5");
  CHECK(self.at("stats").as_object().at("client").as_object().at("node_id").as_string()
        == json::string_view{own_node});
  CHECK(self.at("stats").as_object().at("raft").as_object().at("state") == "Leader");
  CHECK(texts_of(fixture.json("/v1/agent/members").as_object().at("Members"), "Name")
        == "vm.global");
  CHECK(json::serialize(fixture.json("/v1/agent/servers")) == R"(["127.0.0.1:4647"])");
  CHECK(fixture.refusal("PUT", "/v1/agent/servers?address=a", "")
        == "400 the client of this agent uses the server beside it; only agents without a server "
           "are told others");
  CHECK(fixture.json("/v1/status/leader") == "127.0.0.1:4647");
  CHECK(json::serialize(fixture.json("/v1/status/peers")) == R"(["127.0.0.1:4647"])");
  CHECK(json::serialize(fixture.json("/v1/regions")) == R"(["global"])");
  CHECK(fixture.json("/v1/operator/raft/configuration").as_object().at("Servers").as_array().size()
        == 1);
  CHECK(json::serialize(fixture.json("/v1/agent/health"))
        == R"({"client":{"message":"ok","ok":true},"server":{"message":"ok","ok":true}})");
  {
    const std::lock_guard lock{fixture.played->guard};
    fixture.played->leads = false;
  }
  CHECK(fixture.refusal("/v1/agent/health?type=server")
        == R"(500 {"server":{"message":"no leader","ok":false}})");
  fixture.leader->set({});
  CHECK(fixture.json("/v1/status/leader") == "");
}

TEST_CASE("metrics: both forms, with the host's usage") {
  ApiFixture fixture;
  fixture.state().register_job({.id = "web"});

  const auto metrics = fixture.json("/v1/metrics").as_object();
  CHECK(metrics.contains("Timestamp"));
  CHECK(metrics.at("Gauges").as_array().size() > 5);
  const auto text = fixture.get("/v1/metrics?format=prometheus");
  CHECK(text.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8");
  CHECK(text.body.find("nomad_client_host_memory_total{") != std::string::npos);
  CHECK(text.body.find("nomad_client_allocations_running{") != std::string::npos);
  CHECK(text.body.find("nomad_nomad_job_summary_queued{job=\"web\"") != std::string::npos);

  ApiFixture without{[](ApiOptions& options) { options.metrics.prometheus = false; }};
  CHECK(without.refusal("/v1/metrics?format=prometheus") == "415 Prometheus is not enabled");
}

TEST_CASE("metrics: calls are measured by their kind, as far as there were any") {
  ApiFixture fixture;
  const auto shown = [&fixture] { return fixture.get("/v1/metrics?format=prometheus").body; };
  CHECK(shown().find("nomad_nomad_eval") == std::string::npos);
  fixture.get("/v1/evaluations");
  fixture.get("/v1/evaluations/count");
  fixture.get("/v1/evaluations/count");
  const auto text = shown();
  CHECK(text.find("nomad_nomad_eval_list_count 1") != std::string::npos);
  CHECK(text.find("nomad_nomad_eval_count_count 2") != std::string::npos);
  CHECK(text.find("nomad_nomad_rpc_eval_list 1") != std::string::npos);
  CHECK(text.find("nomad_nomad_rpc_eval_read 2") != std::string::npos);
  CHECK(text.find("nomad_nomad_rpc_query 3") != std::string::npos);
  CHECK(text.find("nomad_nomad_eval_get_eval") == std::string::npos);
}

TEST_CASE("metrics: of the node and, if that is wanted, of each task") {
  const auto shown
      = [](ApiFixture& fixture) { return fixture.get("/v1/metrics?format=prometheus").body; };
  const auto has = [](const std::string& text, const std::string& line) {
    return text.find(line) != std::string::npos;
  };
  ApiFixture without;
  without.state().register_node({.id = own_node});
  const auto node = shown(without);
  const std::string labels
      = R"({datacenter="dc1",node_class="none",node_id=")" + own_node
        + R"(",node_pool="default",node_scheduling_eligibility="eligible",node_status="ready"})";
  CHECK(has(node, "nomad_client_allocated_memory" + labels + " 64\n"));
  CHECK(has(node, "nomad_client_unallocated_memory" + labels + " 836\n"));
  CHECK_FALSE(has(node, "nomad_client_allocs_memory_rss"));

  ApiFixture with{[](ApiOptions& options) { options.metrics.of_tasks = true; }};
  const auto tasks = shown(with);
  const std::string task = R"({alloc_id=")" + own_alloc + R"(",task="server"})";
  CHECK(has(tasks, "nomad_client_allocs_memory_rss" + task + " 4096\n"));
  CHECK(has(tasks, "nomad_client_allocs_memory_allocated" + task + " 67108864\n"));
  CHECK(has(tasks, "nomad_client_allocs_cpu_total_percent" + task + " 1.5\n"));
  CHECK(has(tasks, "nomad_client_allocs_cpu_allocated" + task + " 100\n"));
  CHECK_FALSE_MESSAGE(has(tasks, "nomad_client_allocs_memory_cache"), "it is not measured");
}

TEST_CASE("metrics: are collected on the pool, not on the thread of a connection") {
  std::thread::id connections;
  std::thread::id collects;
  ApiFixture fixture{[&](ApiOptions& options) {
    options.client = {};
    options.http.observer
        = [&](const net::Request&, unsigned) { connections = std::this_thread::get_id(); };
    options.metrics.registry->add_collector(
        [&](telemetry::Gauges&) { collects = std::this_thread::get_id(); });
  }};
  CHECK(fixture.get("/v1/metrics").status == 200);
  CHECK(collects != std::thread::id{});
  CHECK(collects != connections);
}

TEST_CASE("named: an agent answers for itself alone") {
  ApiFixture fixture;
  for (const std::string path : {"/v1/agent/actors", "/v1/agent/monitor", "/v1/agent/plugins"}) {
    CHECK(fixture.refusal(path + "?node_id=" + uuid(7)) == "404 Unknown node " + uuid(7));
    CHECK(fixture.refusal(path + "?server_id=other") == "404 unknown Nomad server other");
    CHECK(fixture.refusal(path + "?node_id=a&server_id=b")
          == "400 Cannot target node and server simultaneously");
  }
  for (const auto& own : std::vector<std::string>{"", "?node_id=" + own_node, "?server_id=server-1",
                                                  "?server_id=vm.global"})
    CHECK(fixture.get("/v1/agent/actors" + own).status == 200);
}

TEST_CASE("monitor: log lines as they are written") {
  ApiFixture fixture;
  CHECK(fixture.refusal("/v1/agent/monitor?log_level=zz") == "400 Unknown log level: zz");
  CHECK(fixture.refusal("/v1/agent/monitor?plain=x").starts_with("400 Unknown option for plain: "));
  auto client = fixture.client();
  auto plain = client.open({.target = "/v1/agent/monitor?plain=true"});
  auto framed = client.open({.target = "/v1/agent/monitor?log_json=true"});
  REQUIRE(plain.has_value());
  REQUIRE(framed.has_value());

  log::info("testing", "hello", {{"count", 42}});

  CHECK(read_frames(*plain, "testing: hello: count=42\n").find("[INFO]") != std::string::npos);
  CHECK(read_frames(*framed, "\"FileEvent\":\"log\"").find("{\"Data\":\"") != std::string::npos);
}
