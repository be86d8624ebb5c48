// What the service manager is told, over a socket of its own.
#include "runtime/host/process/service_manager.hpp"

#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "runtime/host/process/unique_fd.hpp"
#include "test/unit/runtime/host/temp_dir.hpp"

using namespace std::chrono_literals;
using namespace nomad;
using host::LifeSigns;
using host::ServiceManager;

namespace {

/// A service manager's end; `name` may begin with "@".
class Listener {
public:
  explicit Listener(std::string name) : fd_{::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)} {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    REQUIRE(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    ::setenv("NOTIFY_SOCKET", name.c_str(), 1);
  }

  /// The next text; "" if there is none yet.
  std::string next() const {
    char text[512];
    const auto size = ::recv(fd_.get(), text, sizeof text, MSG_DONTWAIT);
    return size < 0 ? "" : std::string{text, static_cast<std::size_t>(size)};
  }

private:
  host::UniqueFd fd_;
};

}  // namespace

TEST_CASE("service manager: hears of each step, and the environment forgets it") {
  const host::TempDir folder;
  const Listener systemd{folder.path() + "/notify"};
  ::setenv("WATCHDOG_USEC", "60000000", 1);
  ::setenv("WATCHDOG_PID", std::to_string(::getpid()).c_str(), 1);
  const auto manager = ServiceManager::from_environment();
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"})
    CHECK(std::getenv(name) == nullptr);
  CHECK(manager.watchdog() == 60s);

  manager.ready("server\nand client");
  CHECK(systemd.next() == "READY=1\nSTATUS=server and client\n");
  manager.reloading();
  const auto reloading = systemd.next();
  CHECK(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC="));
  CHECK(reloading.ends_with("\nSTATUS=reading the configuration\n"));
  manager.stopping("leaving");
  CHECK(systemd.next() == "STOPPING=1\nSTATUS=leaving\n");
  manager.extend(2s);
  CHECK(systemd.next() == "EXTEND_TIMEOUT_USEC=2000000\n");
  manager.alive();
  CHECK(systemd.next() == "WATCHDOG=1\n");
  CHECK(systemd.next().empty());
}

TEST_CASE("service manager: a name that is no file's") {
  const Listener systemd{"@nomadctl-test-" + std::to_string(::getpid())};
  ServiceManager::from_environment().alive();
  CHECK(systemd.next() == "WATCHDOG=1\n");
}

TEST_CASE("service manager: another process's watchdog, and none, are no watchdog") {
  ::setenv("WATCHDOG_USEC", "1000000", 1);
  ::setenv("WATCHDOG_PID", "1", 1);
  CHECK_FALSE(ServiceManager::from_environment().watchdog());
  for (const char* time : {"0", "-1", "1s", ""}) {
    ::setenv("WATCHDOG_USEC", time, 1);
    CHECK_FALSE(ServiceManager::from_environment().watchdog());
  }
  ServiceManager{}.ready("nobody hears this");
}

TEST_CASE("life signs: three in the time that the manager waits") {
  LifeSigns signs{30s};
  const LifeSigns::Clock::time_point start{};
  CHECK(signs.is_due(start));
  CHECK_FALSE(signs.is_due(start + 9s));
  CHECK(signs.is_due(start + 10s));
  CHECK_FALSE(signs.is_due(start + 19s));
  CHECK(signs.patience() == 10s);
  CHECK(signs.interval(1s) == 1s);
  CHECK(LifeSigns{300ms}.interval(1s) == 100ms);
}

TEST_CASE("life signs: nobody waits for one") {
  LifeSigns signs{std::nullopt};
  CHECK_FALSE(signs.is_due(LifeSigns::Clock::now()));
  CHECK(signs.interval(1s) == 1s);
}
