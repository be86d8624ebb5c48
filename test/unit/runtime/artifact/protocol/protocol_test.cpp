#include "runtime/artifact/protocol/protocol.hpp"

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::artifact;

TEST_CASE("artifact protocol: orders and reports go over whole") {
  FetchOrder order{.source = "https://h/x",
                   .mode = "dir",
                   .headers = {{"A", "1"}, {"B", ""}},
                   .limits = {.http_max_bytes = 7, .unpacked_files = 0},
                   .confinement = {.files = false, .uid = 1, .gid = 2, .call_filter = "12345678"},
                   .reach = {.loopback = false,
                             .link_local = true,
                             .agent_ports = {4646},
                             .agent_addresses = {"10.0.0.1"}},
                   .insecure = true};
  const auto read = read_order(write_order(order)).value();
  CHECK(read.source == order.source);
  CHECK(read.mode == order.mode);
  CHECK(read.headers == order.headers);
  CHECK(read.limits.http_max_bytes == 7);
  CHECK(read.limits.unpacked_files == 0);
  CHECK(read.limits.git_timeout == order.limits.git_timeout);
  CHECK(!read.confinement.files);
  CHECK(read.confinement.gid == 2);
  CHECK(read.confinement.call_filter == "12345678");
  CHECK(!read.reach.loopback);
  CHECK(read.reach.link_local);
  CHECK(!read.reach.agent);
  CHECK(read.reach.agent_ports == order.reach.agent_ports);
  CHECK(read.reach.agent_addresses == order.reach.agent_addresses);
  CHECK(read.insecure);
  const auto done = read_report(write_report(FetchDone{true, 3, 4})).value();
  CHECK(std::get<FetchDone>(done).is_file);
  CHECK(std::get<FetchDone>(done).bytes == 4);
  CHECK(std::get<FetchProgress>(read_report(write_report(FetchProgress{1, 2})).value()).expected
        == 2);
  CHECK(std::get<FetchWarning>(read_report(write_report(FetchWarning{"w"})).value()).text == "w");
  const auto cut = read_report(write_report(FetchFailed{std::string(100'000, 'x')})).value();
  CHECK(std::get<FetchFailed>(cut).text.size() == max_report_text);
}

TEST_CASE("artifact protocol: bytes that are none are refused") {
  for (const std::string& bytes : {std::string{}, std::string{"x"}, std::string(8, '\xff'),
                                   std::string(64, '\xff'), std::string(1024, 'A')}) {
    CHECK(!read_order(bytes));
    CHECK(!read_report(bytes));
  }
  CHECK(read_report("x").error() == Error{Errc::corrupt, "a message of a length that none has"});
  CHECK(read_report(std::string(64, '\xff')).error().what.starts_with("a malformed message: "));
}

TEST_CASE("artifact protocol: the program's time is longer than all of its parts'") {
  using std::chrono::minutes;
  CHECK(FetchLimits{}.deadline() == minutes{31});
  CHECK(FetchLimits{.http_read_timeout = minutes{1}}.deadline() == minutes{31});
  CHECK(FetchLimits{.git_timeout = minutes{90}}.deadline() == minutes{91});
}
