// A played session of a command, the client's side of its websocket, and an API that has both: for
// tests of `alloc exec`.
#pragma once

#include <atomic>

#include <doctest/doctest.h>

#include "runtime/base/text.hpp"
#include "runtime/net/http/url.hpp"
#include "runtime/net/http/websocket.hpp"
#include "test/support/eventually.hpp"
#include "test/unit/actors/api/allocs/exec_peer.hpp"
#include "test/unit/actors/api/api_fixture.hpp"
#include "test/unit/actors/api/busy_looks.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

namespace nomad::api {

namespace ws = nomad::net::websocket;
using namespace std::chrono_literals;
using host::ExecEvents;
using test::eventually;

/// A command that does what the test says.
class PlayedSession : public host::ExecSession {
public:
  explicit PlayedSession(std::atomic<int>& killed) : killed_{killed} {}

  ~PlayedSession() override {
    ++killed_;
    test::note_change();
  }

  void start(ExecEvents given) override {
    change([&] {
      events = std::move(given);
      is_started = true;
    });
  }

  bool write_input(std::string_view bytes) override {
    bool is_taken = false;
    change([&] {
      ++writes;
      is_taken = !refuses;
      if (is_taken) input += bytes;
    });
    return is_taken;
  }

  void end_input() override {
    change([&] { input += "<end>"; });
  }

  void resize(std::uint16_t rows, std::uint16_t columns) override {
    change([&] { size = {rows, columns}; });
  }

  void taken(std::size_t count) override {
    change([&] { acknowledged += count; });
  }

  std::mutex guard;
  ExecEvents events;
  bool is_started = false;
  bool refuses = false;
  std::string input;
  std::pair<int, int> size;
  std::size_t acknowledged = 0;
  std::size_t writes = 0;  ///< That were tried.

private:
  template <class Change>
  void change(const Change& change) {
    {
      const std::lock_guard lock{guard};
      change();
    }
    test::note_change();
  }

  std::atomic<int>& killed_;
};

struct ExecFixture : ApiFixture {
  explicit ExecFixture(const std::function<void(ApiOptions&)>& change = {}) : ApiFixture{change} {
    played->start_session = [this]() -> Result<std::shared_ptr<host::ExecSession>> {
      if (failure) return *failure;
      auto made = std::make_shared<PlayedSession>(killed);
      made->refuses = refuses;
      session = made;
      return std::shared_ptr<host::ExecSession>{made};
    };
  }

  static std::string target(const std::string& command = R"(["/bin/sh","-c","true"])",
                            const std::string& more = "&task=server",
                            const std::string& alloc = own_alloc) {
    return "/v1/client/allocation/" + alloc + "/exec?command=" + percent_encode(command) + more;
  }

  /// The session, once it is started.
  std::shared_ptr<PlayedSession> started() {
    REQUIRE(eventually([&] {
      const auto made = current();
      if (!made) return false;
      const std::lock_guard lock{made->guard};
      return made->is_started;
    }));
    return current();
  }

  std::shared_ptr<PlayedSession> current() {
    const std::lock_guard lock{played->guard};
    return session.lock();
  }

  std::optional<Error> failure;
  bool refuses = false;
  std::weak_ptr<PlayedSession> session;  ///< Under the guard of `played`.
  std::atomic<int> killed{0};
};

}  // namespace nomad::api
