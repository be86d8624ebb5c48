// Bodies in files: by themselves, and as an HTTP server takes them.
#include "runtime/net/http/body_file.hpp"

#include <filesystem>
#include <fstream>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"
#include "test/unit/runtime/net/http/test_server.hpp"

using namespace nomad;
using namespace nomad::net;
using namespace std::chrono_literals;

namespace fs = std::filesystem;

namespace {

struct Fixture {
  test::TempDir dir;
  std::string directory = dir.file("uploads");

  std::shared_ptr<BodyFiles> open(std::uint64_t most_bytes = 1'000'000, unsigned most_files = 4) {
    auto made
        = BodyFiles::open({.directory = directory,
                           .most_bytes = most_bytes,
                           .most_files = most_files,
                           .wants = [](const Request& head) { return head.target == "/file"; }});
    REQUIRE(made.has_value());
    return *made;
  }

  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator{directory}, fs::directory_iterator{}));
  }

  /// Waits until there are so many; whether there are.
  bool has_files(std::size_t count) const {
    return test::eventually_in(directory, [&] { return files() == count; });
  }
};

/// A server with a small bound for bodies in memory; /file answers with what it got, /keep keeps
/// it.
struct Server : Fixture {
  explicit Server(std::uint64_t most_bytes = 1'000'000, unsigned most_files = 4) {
    HttpRouter router;
    router.handle("/file", [this](Responder responder) {
      const auto& request = responder.request();
      if (!request.body_file) return responder.send({.status = 500});
      std::string content;
      for (;;) {
        const auto piece = request.body_file->read(content.size(), 1000);
        REQUIRE(piece.has_value());
        if (piece->empty()) break;
        content += *piece;
      }
      seen = request.body.size();
      responder.send({.body = std::move(content)});
    });
    router.handle("/small", [](Responder responder) {
      const auto& request = responder.request();
      responder.send({.body = (request.body_file ? "file " : "memory ") + request.body});
    });
    auto made = HttpServer::start({.listen = {"127.0.0.1:0"},
                                   .body_bytes = 1000,
                                   .body_files = open(most_bytes, most_files),
                                   .body_timeout = 1s,
                                   .tick = 20ms},
                                  std::move(router));
    REQUIRE(made.has_value());
    server = std::make_unique<HttpServer>(std::move(*made));
  }

  std::string address() const { return server->addresses().front(); }

  HttpClient client() const {
    auto made = HttpClient::make({.address = "http://" + address()});
    REQUIRE(made.has_value());
    return std::move(*made);
  }

  std::size_t seen = 1;
  std::unique_ptr<HttpServer> server;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "body_file: what is written is read, and gone with the last reference") {
  const auto all = open();
  auto file = *all->make();
  CHECK(file->append("hello ").has_value());
  CHECK(file->append("").has_value());
  CHECK(file->append("world").has_value());
  CHECK(file->size() == 11);
  CHECK(*file->read(0, 100) == "hello world");
  CHECK(*file->read(6, 3) == "wor");
  CHECK(file->read(11, 3)->empty());

  struct stat status {};

  REQUIRE(::stat(file->path().c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0600);
  REQUIRE(::stat(directory.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(files() == 1);
  file.reset();
  CHECK(files() == 0);
}

TEST_CASE_FIXTURE(Fixture, "body_file: size and number are bounded") {
  const auto all = open(10, 2);
  const auto file = *all->make();
  CHECK(file->append("0123456789").has_value());
  CHECK(file->append("x").error() == Error{Errc::too_large, "the body is larger than 10 bytes"});
  CHECK(file->size() == 10);
  {
    const auto second = *all->make();
    CHECK(all->make().error() == Error{Errc::overloaded, "too many large requests are under way"});
    CHECK(all->make().error().code == Errc::overloaded);
  }
  CHECK(all->make().has_value());
}

TEST_CASE_FIXTURE(Fixture, "body_file: what a killed process has left is removed") {
  fs::create_directories(directory + "/deep");
  std::ofstream{directory + "/body-abcdef"} << "left";
  open();
  CHECK(files() == 0);
}

TEST_CASE_FIXTURE(Fixture, "body_file: a directory that cannot be made is an error that names it") {
  std::ofstream{dir.file("file")} << "x";
  const auto made = BodyFiles::open({.directory = dir.file("file") + "/uploads", .wants = {}});
  REQUIRE(made.has_error());
  CHECK(made.error().what.find("file/uploads") != std::string::npos);
}

TEST_CASE("body_file: a server puts large bodies of some requests into files") {
  Server server;
  auto client = server.client();
  const std::string large(300'000, 'x');
  for (int i = 0; i < 3; ++i) {  // on one connection
    const auto response = client.send({.method = "PUT", .target = "/file", .body = large});
    REQUIRE(response.has_value());
    CHECK(response->status == 200);
    CHECK(response->body == large);
    CHECK(server.seen == 0);
    CHECK(server.has_files(0));
  }
  CHECK(client.send({.method = "PUT", .target = "/file"})->body == "");
  CHECK(client.send({.method = "PUT", .target = "/small", .body = "a"})->body == "memory a");
  CHECK(client.send({.method = "PUT", .target = "/small", .body = large})->status == 413);
}

TEST_CASE("body_file: chunks go into a file, too, with its own bound") {
  Server server{5'000};
  const std::string head = "PUT /file HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::string chunk = "7d0\r\n" + std::string(2'000, 'y') + "\r\n";
  RawPeer peer{server.address()};
  peer.send(head + chunk + chunk + "0\r\n\r\n");
  CHECK(peer.read_until(std::string(4'000, 'y')).starts_with("HTTP/1.1 200 "));
  RawPeer greedy{server.address()};
  greedy.send(head + chunk + chunk + chunk);
  CHECK(greedy.read_all().starts_with("HTTP/1.1 413 "));
  RawPeer announced{server.address()};
  announced.send("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 5001\r\n\r\n");
  CHECK(announced.read_all().starts_with("HTTP/1.1 413 "));
  RawPeer other{server.address()};
  other.send("PUT /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk);
  CHECK(other.read_all().starts_with("HTTP/1.1 413 "));
  CHECK(server.has_files(0));
}

TEST_CASE("body_file: a client that goes away, or stalls, leaves no file") {
  Server server;
  const std::string begin = "PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n"
                            + std::string(100'000, 'z');
  RawPeer gone{server.address()};
  gone.send(begin);
  CHECK(server.has_files(1));
  gone.close();
  CHECK(server.has_files(0));
  RawPeer stalled{server.address()};
  stalled.send(begin);
  CHECK(server.has_files(1));
  CHECK(stalled.read_all() == "");
  CHECK(server.has_files(0));
}

TEST_CASE("body_file: a client that sends slowly but steadily is waited for") {
  Server server;
  RawPeer peer{server.address()};
  peer.send("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 163843\r\n\r\n");
  for (int i = 0; i < 10; ++i) {
    CHECK(peer.is_silent(200ms));
    peer.send(std::string(16 * 1024, 's'));
  }
  peer.send("end");
  CHECK(peer.read_until("end").starts_with("HTTP/1.1 200 "));
}

TEST_CASE("body_file: a client that sends byte by byte is not") {
  Server server;
  RawPeer peer{server.address()};
  peer.send("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
  for (int i = 0; i < 50 && peer.is_silent(100ms); ++i)
    peer.send("s");
  CHECK(peer.read_all() == "");
  CHECK(server.has_files(0));
}

TEST_CASE("body_file: too many at the same time are refused") {
  Server server{1'000'000, 1};
  RawPeer first{server.address()};
  first.send("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
  CHECK(server.has_files(1));
  RawPeer second{server.address()};
  second.send("PUT /file HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n");
  CHECK(second.read_all().starts_with("HTTP/1.1 429 "));
  first.send("cde");
  CHECK(first.read_until("abcde").ends_with("abcde"));
}

TEST_CASE("http_client: a body in pieces is sent, and a refusal before its end is heard") {
  Server server;
  auto client = server.client();
  int left = 5;
  const auto next = [&left]() -> Result<std::string> {
    return left-- > 0 ? std::string(1'000, 'p') : std::string{};
  };
  const auto response
      = client.send({.method = "PUT", .target = "/file", .next_piece = next, .pieces_size = 5'000});
  REQUIRE(response.has_value());
  CHECK(response->body == std::string(5'000, 'p'));

  left = 1'000'000;
  const auto refused = client.send(
      {.method = "PUT", .target = "/small", .next_piece = next, .pieces_size = 1'000'000'000});
  REQUIRE(refused.has_value());
  CHECK(refused->status == 413);
  CHECK(client.send({.target = "/small"})->body == "memory ");

  const auto failing = [] { return Result<std::string>{Error{Errc::io, "read x: broken"}}; };
  const auto failed
      = client.send({.method = "PUT", .target = "/file", .next_piece = failing, .pieces_size = 5});
  REQUIRE(failed.has_error());
  CHECK(failed.error().what.ends_with("read x: broken"));
  CHECK(server.has_files(0));
}
