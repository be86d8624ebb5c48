// The pool with programs that stand for nomadctl-artifact; the real one is in
// test/system/artifacts/test_artifacts.py.
#include "runtime/artifact/fetch_pool.hpp"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/artifact/artifact_key.hpp"
#include "test/support/eventually.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::artifact;
namespace fs = std::filesystem;

namespace {

/// What a listener has heard, for one fetch.
class Heard {
public:
  FetchListener listener() {
    return {.progress = [](const FetchProgress&) {},
            .done =
                [this](const Result<FetchDone>& outcome) {
                  const std::lock_guard lock{mutex_};
                  outcome_ = outcome;
                  came_.notify_all();
                }};
  }

  Result<FetchDone> wait() {
    std::unique_lock lock{mutex_};
    REQUIRE(
        came_.wait_for(lock, std::chrono::seconds{60}, [this] { return outcome_.has_value(); }));
    return *outcome_;
  }

  bool has_come() {
    const std::lock_guard lock{mutex_};
    return outcome_.has_value();
  }

private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<Result<FetchDone>> outcome_;
};

struct PoolLocation : test::TempDir {
  FetchOptions options(const std::string& script) const {
    std::ofstream{file("program")} << "#!/bin/sh\n" << script;
    fs::permissions(file("program"), fs::perms::all);
    return {.program = file("program")};
  }

  Fetch fetch() const {
    return {
        .source = "https://h/x",
        .mode = "any",
        .directory = host::UniqueFd{::open(path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)}};
  }
};

}  // namespace

TEST_CASE("fetch pool: a program that ends without a word is a failure") {
  const PoolLocation location;
  FetchPool pool{location.options("exit 3")};
  Heard heard;
  pool.start(location.fetch(), heard.listener());
  CHECK(heard.wait().error().what == "nomadctl-artifact exited with 3");
  FetchPool missing{{.program = location.file("missing")}};
  Heard other;
  missing.start(location.fetch(), other.listener());
  CHECK(other.wait().error().code == Errc::not_found);
}

TEST_CASE("fetch pool: who reports nonsense is not believed") {
  const PoolLocation location;
  FetchPool pool{location.options("echo nonsense >&3; exec sleep 1000")};
  Heard heard;
  pool.start(location.fetch(), heard.listener());
  CHECK(heard.wait().error().code == Errc::corrupt);
}

TEST_CASE("fetch pool: who reports without end is stopped") {
  const PoolLocation location;
  const auto report = write_report(FetchProgress{1, 2});
  {
    std::ofstream flood{location.file("flood"), std::ios::binary};
    for (int i = 0; i < 100'000; ++i)
      flood << report;
  }
  FetchPool pool{location.options("exec dd status=none bs=" + std::to_string(report.size())
                                  + " if=" + location.file("flood") + " >&3")};
  Heard heard;
  std::atomic<std::size_t> told = 0;
  auto listener = heard.listener();
  listener.progress = [&told](const FetchProgress&) { ++told; };
  pool.start(location.fetch(), listener);
  CHECK(heard.wait().error().code == Errc::corrupt);
  CHECK(told < 3000);
}

TEST_CASE("fetch pool: a cancelled fetch is gone with all that it has started") {
  const PoolLocation location;
  FetchPool pool{location.options("sleep 1000 & echo $! > " + location.file("child") + "; touch "
                                  + location.file("began") + "; wait")};
  Heard heard;
  const auto ticket = pool.start(location.fetch(), heard.listener());
  REQUIRE(test::eventually_in(location.path(), [&] { return fs::exists(location.file("began")); }));
  CHECK(!heard.has_come());
  pool.cancel(ticket);
  CHECK(heard.wait().error().code == Errc::cancelled);
}

TEST_CASE("fetch pool: no more run at a time than have a place") {
  const PoolLocation location;
  auto options = location.options("echo >> " + location.file("began") + "; exec sleep 1000");
  options.most_running = 2;
  FetchPool pool{options};
  Heard heard[3];
  FetchPool::Ticket tickets[3];
  for (int i = 0; i < 3; ++i)
    tickets[i] = pool.start(location.fetch(), heard[i].listener());
  const auto have_begun = [&location](std::uintmax_t count, test::Patience within) {
    const auto began = location.file("began");
    return test::eventually_in(
        location.path(), [&] { return fs::exists(began) && fs::file_size(began) >= count; },
        within);
  };
  REQUIRE(have_begun(2, test::patience));
  CHECK_FALSE(have_begun(3, std::chrono::milliseconds{100}));
  pool.cancel(tickets[0]);
  CHECK(!heard[0].wait());
  CHECK(have_begun(3, test::patience));
  pool.cancel(tickets[1]);
  pool.cancel(tickets[2]);
  CHECK(!heard[1].wait());
  CHECK(!heard[2].wait());
}

TEST_CASE("fetch pool: of the agent's environment only what is named goes over") {
  const auto of = [](const std::string& name) -> const char* {
    if (name == "HTTP_PROXY") return "http://p";
    if (name == "SECRET") return "hidden";
    return name == "HOME" ? "/home/x" : nullptr;
  };
  CHECK(fetcher_environment("", false, of)
        == std::vector<std::string>{"PATH=/usr/local/bin:/usr/bin:/bin"});
  CHECK(fetcher_environment("HTTP_PROXY, MISSING\tHOME", false, of)
        == std::vector<std::string>{"HOME=/home/x", "HTTP_PROXY=http://p",
                                    "PATH=/usr/local/bin:/usr/bin:/bin"});
  CHECK(fetcher_environment("", true, of).front() == "HOME=/home/x");
}

TEST_CASE("artifact key: definitions differ in each of their parts") {
  const Definition one{
      .source = "s", .options = {{"a", "b"}}, .headers = {}, .mode = "any", .destination = "d"};
  auto other = one;
  CHECK(key_of(one) == key_of(other));
  other.options = {};
  other.headers = {{"a", "b"}};
  CHECK(key_of(one) != key_of(other));
  other = one;
  other.options = {{"ab", ""}};
  CHECK(key_of(one) != key_of(other));
  CHECK(key_of(one).size() == 32);
}
