// Opening files that tasks can influence: real links, FIFOs and races.

#include "runtime/host/beneath.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "temp_dir.hpp"

using namespace nomad;
using namespace nomad::host;
namespace fs = std::filesystem;

namespace {

const Error escape{Errc::rejected, "Path escapes the alloc directory"};

struct Tree {
  Tree() {
    fs::create_directories(root.path() + "/web/local");
    fs::create_directories(root.path() + "/web/secrets");
    fs::create_directories(root.path() + "/alloc/logs");
    write_text(root / "web/local/a.txt", "0123456789");
    write_text(root / "web/secrets/token", "secret");
    write_text(outside / "passwd", "root:x");
  }

  void link(const std::string& target, const std::string& name) {
    fs::create_symlink(target, root / name);
  }

  TempDir root, outside;
  Beneath beneath = std::move(*Beneath::open(root.path()));
};

}  // namespace

TEST_CASE("beneath: lists, shows and reads files") {
  Tree tree;
  fs::permissions(tree.root / "web/local/a.txt", fs::perms{0640});

  auto listed = tree.beneath.list("/web");
  REQUIRE_FALSE(listed.has_error());
  REQUIRE(listed->files.size() == 2);
  CHECK(listed->files[0].name == "local");
  CHECK(listed->files[0].is_dir);
  CHECK(listed->files[0].mode.front() == 'd');
  for (const char* root : {"/", "", ".", "//"})
    CHECK(tree.beneath.list(root)->files.size() == 2);

  auto info = tree.beneath.stat("web/local/a.txt");
  REQUIRE_FALSE(info.has_error());
  CHECK(info->name == "a.txt");
  CHECK(info->size == 10);
  CHECK(info->mode == "-rw-r-----");
  CHECK(info->content_type == "text/plain; charset=utf-8");
  CHECK(info->modified > 1'500'000'000'000'000'000);
  CHECK(tree.beneath.stat("/")->is_dir);

  CHECK(*tree.beneath.read_at("web/local/a.txt", 3, 4) == "3456");
  CHECK(*tree.beneath.read_at("web/../web/local/a.txt", 8, 100) == "89");
  CHECK(*tree.beneath.read_at("web/local/a.txt", 100, 10) == "");
}

TEST_CASE("beneath: says what is missing or not readable as Go does") {
  Tree tree;
  CHECK(tree.beneath.stat("web/none").error()
        == Error{Errc::not_found, "stat web/none: no such file or directory"});
  CHECK(tree.beneath.open_file("web/none/x").error()
        == Error{Errc::not_found, "open web/none/x: no such file or directory"});
  CHECK(tree.beneath.open_file("web/local/a.txt/x").error().code == Errc::not_found);
  CHECK(tree.beneath.open_file("web").error().code == Errc::invalid_argument);
  CHECK(tree.beneath.list("web/local/a.txt").error().code == Errc::not_found);
  CHECK(tree.beneath.open_file(std::string{"a\0b", 3}).error()
        == Error{Errc::invalid_argument, "open: the path has a NUL byte"});
  CHECK(tree.beneath.open_file(std::string(5000, 'x')).error().code == Errc::invalid_argument);
  CHECK(Beneath::open(tree.root / "none").error().code == Errc::not_found);
}

TEST_CASE("beneath: no path and no link leads outside") {
  Tree tree;
  std::string up = "../../" + fs::path{tree.outside.path()}.filename().string();
  tree.link(tree.outside.path(), "web/absolute_dir");
  tree.link(tree.outside / "passwd", "web/absolute");
  tree.link("../" + up + "/passwd", "web/relative");
  tree.link("absolute", "web/twice");
  tree.link("/proc/self/root/etc", "web/magic");
  tree.link("/", "web/slash");
  tree.link(tree.root.path() + "x/y", "web/sibling");
  tree.link(
      tree.root.path() + "/../" + fs::path{tree.outside.path()}.filename().string() + "/passwd",
      "web/dotted");
  tree.link("loop", "web/loop");

  for (const char* path : {"..", "../", "web/../..", "/../etc/passwd", "web/absolute_dir/passwd",
                           "web/absolute", "web/relative", "web/twice", "web/magic/passwd",
                           "web/slash/etc/passwd", "web/sibling", "web/dotted", "web/loop"}) {
    CAPTURE(path);
    CHECK(tree.beneath.open_file(path).error() == escape);
    CHECK(tree.beneath.stat(path).error() == escape);
    CHECK(tree.beneath.list(path).error() == escape);
    CHECK(tree.beneath.make_directories(std::string{path} + "/new", 0755).error() == escape);
  }
  CHECK(read_text(tree.outside / "passwd") == "root:x");
  CHECK(std::distance(fs::directory_iterator{tree.outside.path()}, {}) == 1);
}

TEST_CASE("beneath: follows links that stay inside, relative and absolute") {
  Tree tree;
  tree.link("local/a.txt", "web/relative");
  tree.link("../web/local/a.txt", "alloc/up");
  tree.link(tree.root.path() + "/web/local", "alloc/absolute");
  tree.link(tree.root.path(), "alloc/top");
  tree.link("absolute", "alloc/chain");

  for (const char* path :
       {"web/relative", "alloc/up", "alloc/absolute/a.txt", "alloc/top/web/local/a.txt",
        "alloc/chain/a.txt", "alloc/top/alloc/chain/a.txt"}) {
    CAPTURE(path);
    auto content = tree.beneath.read_at(path, 0, 100);
    REQUIRE_FALSE(content.has_error());
    CHECK(*content == "0123456789");
  }
}

TEST_CASE("beneath: pipes, sockets and devices are refused at once") {
  Tree tree;
  REQUIRE(::mkfifo((tree.root / "web/fifo").c_str(), 0666) == 0);
  tree.link("fifo", "web/to_fifo");
  int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (tree.root / "web/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  std::vector<std::string> special = {"web/fifo", "web/to_fifo", "web/socket"};
  if (::mknod((tree.root / "web/null").c_str(), S_IFCHR | 0666, 0x103) == 0)
    special.push_back("web/null");

  for (const std::string& path : special) {
    CAPTURE(path);
    CHECK(tree.beneath.open_file(path).error()
          == Error{Errc::invalid_argument, "open " + path + ": not a regular file or directory"});
    CHECK(tree.beneath.stat(path)->mode.front() != '-');
  }
  CHECK(tree.beneath.list("web")->files.size() == special.size() + 2);
  ::close(socket);
}

TEST_CASE("beneath: contents of secrets are not shown, by no name") {
  Tree tree;
  tree.link("../secrets/token", "web/local/token");
  tree.link("../web/secrets", "alloc/secrets_link");

  for (const char* path : {"web/secrets/token", "web/local/token", "alloc/secrets_link/token",
                           "alloc/../web/secrets/token"}) {
    CAPTURE(path);
    CHECK(tree.beneath.open_file(path).error()
          == Error{Errc::rejected, "Reading secret file prohibited: " + std::string{path}});
    CHECK_FALSE(tree.beneath.stat(path).has_error());
    CHECK(tree.beneath.stat(path)->content_type == "application/octet-stream");
  }
  CHECK(tree.beneath.list("web/secrets")->files.size() == 1);
  fs::create_directories(tree.root.path() + "/web/private");
  write_text(tree.root / "web/private/key", "x");
  CHECK(tree.beneath.open_file("web/private/key").error()
        == Error{Errc::rejected, "Reading private file prohibited: web/private/key"});

  auto trusting = Beneath::open(tree.root.path(), false);
  CHECK(*trusting->read_at("web/secrets/token", 0, 10) == "secret");
  fs::create_directories(tree.root.path() + "/alloc/secrets");
  write_text(tree.root / "alloc/secrets/open", "x");
  CHECK(*tree.beneath.read_at("alloc/secrets/open", 0, 10) == "x");
}

TEST_CASE("beneath: writes whole files and makes directories inside only") {
  Tree tree;
  CHECK_FALSE(tree.beneath.make_directories("web/local/x/y", 0777).has_error());
  CHECK_FALSE(tree.beneath.make_directories("web/local/x/z//", 0777).has_error());
  CHECK(fs::is_directory(tree.root / "web/local/x/z"));
  CHECK(fs::status(tree.root / "web/local/x/y").permissions() == fs::perms::all);
  CHECK_FALSE(tree.beneath.write_file("web/local/x/y/f", "one", 0600, true).has_error());
  CHECK_FALSE(tree.beneath.write_file("web/local/x/y/f", "two", 0640).has_error());
  CHECK(read_text(tree.root / "web/local/x/y/f") == "two");
  CHECK(tree.beneath.stat("web/local/x/y/f")->mode == "-rw-r-----");
  CHECK(tree.beneath.list("web/local/x/y")->files.size() == 1);

  // A file behind a link is not written to; the link is replaced.
  tree.link(tree.outside / "passwd", "web/local/link");
  CHECK_FALSE(tree.beneath.write_file("web/local/link", "mine", 0600).has_error());
  CHECK(read_text(tree.outside / "passwd") == "root:x");
  CHECK(read_text(tree.root / "web/local/link") == "mine");

  CHECK(tree.beneath.write_file("../x", "x", 0600).error() == escape);
  CHECK(tree.beneath.make_directories("web/local/a.txt/b", 0755).error().code == Errc::not_found);
}

TEST_CASE("beneath: a link that is swapped all the time never leads outside") {
  Tree tree;
  fs::create_directories(tree.root.path() + "/web/inside");
  write_text(tree.root / "web/inside/f", "inside");
  write_text(tree.outside / "f", "outside");
  std::atomic<bool> done{false};
  std::thread swapper{[&] {
    std::string path = tree.root / "web/swapped", next = tree.root / "web/next";
    for (bool out = false; !done; out = !out) {
      fs::create_symlink(out ? tree.outside.path() : tree.root / "web/inside", next);
      fs::rename(next, path);
    }
  }};

  // Until both targets were met: on a busy machine the other thread may not run for a while.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  int read = 0;
  int refused = 0;
  const auto met_both = [&] { return read > 0 && refused > 0; };
  for (int i = 0; i < 3000 || (!met_both() && std::chrono::steady_clock::now() < patience); ++i) {
    auto content = tree.beneath.read_at("web/swapped/f", 0, 100);
    if (content.has_error()) {
      ++refused;
      continue;
    }
    CHECK(*content == "inside");
    ++read;
  }
  done = true;
  swapper.join();
  CHECK(read > 0);
  CHECK(refused > 0);
}

TEST_CASE("go_file_mode: prints as Go does") {
  CHECK(go_file_mode(S_IFREG | 0644) == "-rw-r--r--");
  CHECK(go_file_mode(S_IFDIR | 0755) == "drwxr-xr-x");
  CHECK(go_file_mode(S_IFDIR | 01777) == "dtrwxrwxrwx");
  CHECK(go_file_mode(S_IFLNK | 0777) == "Lrwxrwxrwx");
  CHECK(go_file_mode(S_IFIFO | 0600) == "prw-------");
  CHECK(go_file_mode(S_IFCHR | 0666) == "Dcrw-rw-rw-");
  CHECK(go_file_mode(S_IFBLK | 0660) == "Drw-rw----");
  CHECK(go_file_mode(S_IFREG | 04755) == "urwxr-xr-x");
}

TEST_CASE("detect_content_type: tells Go's types apart") {
  using namespace std::string_literals;

  struct Case {
    std::string name, head, type;
  };

  for (const Case& each :
       {Case{"a.json", "{}", "application/json"}, Case{"a", "", "application/octet-stream"},
        Case{"a", "plain\n", "text/plain; charset=utf-8"},
        Case{"a", "\x01\x02", "application/octet-stream"},
        Case{"a", "  <!doctype html><p>", "text/html; charset=utf-8"},
        Case{"a", "<html>", "text/html; charset=utf-8"},
        Case{"a", "<htmlx", "text/plain; charset=utf-8"},
        Case{"a", "\n<?xml version", "text/xml; charset=utf-8"},
        Case{"a", "%PDF-1.4", "application/pdf"}, Case{"a", "\x89PNG\r\n\x1a\n", "image/png"},
        Case{"a", "\x1f\x8b\x08", "application/x-gzip"}, Case{"a", "PK\x03\x04", "application/zip"},
        Case{"a", "RIFF1234WEBPVP8", "image/webp"},
        Case{"a",
             "\0\0\0\x18"
             "ftypmp42\0\0\0\0mp42isom"s,
             "video/mp4"},
        Case{"a", "caf\xc3\xa9", "text/plain; charset=utf-8"}}) {
    CAPTURE(each.head);
    CHECK(detect_content_type(each.name, each.head) == each.type);
  }
}

TEST_CASE("beneath: a directory is listed in pages, by name, and only what is wanted") {
  Tree tree;
  for (int i = 9; i >= 0; --i)
    REQUIRE(
        tree.beneath.write_file("web/local/n" + std::to_string(i), "x", 0644, false).has_value());
  const auto names_of = [](const DirectoryPage& page) {
    std::string names;
    for (const auto& file : page.files)
      names += file.name + ' ';
    return names + "| " + page.next;
  };

  CHECK(names_of(*tree.beneath.list("web/local", {.from = "n0", .most = 4})) == "n0 n1 n2 n3 | n4");
  CHECK(names_of(*tree.beneath.list("web/local", {.from = "n8", .most = 4})) == "n8 n9 | ");
  CHECK(names_of(*tree.beneath.list(
            "web/local",
            {.most = 1,
             .wanted = [](std::string_view name, std::string_view of) { return name > of; },
             .of = "n7"}))
        == "n8 | n9");
  CHECK(tree.beneath.list("web/local", {.max_names = 10}).error().code == Errc::too_large);
}
