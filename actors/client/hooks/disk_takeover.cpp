#include "actors/client/hooks/disk_takeover.hpp"

#include <chrono>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include "runtime/base/log.hpp"
#include "runtime/disk/disk_move.hpp"
#include "runtime/disk/disk_unpack.hpp"
#include "runtime/disk/tree.hpp"
#include "runtime/host/alloc_dir.hpp"
#include "runtime/net/http/http_client.hpp"

namespace nomad::client {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto longest_silence = 60s;
constexpr auto look_every = 500ms;  ///< For the stop token.

/// Below the allocation's directory, so that it goes with it.
constexpr const char* staging_name = ".predecessor";

std::string sibling(const std::string& alloc_root, const std::string& alloc_id) {
  return alloc_root.substr(0, alloc_root.rfind('/') + 1) + alloc_id;
}

Result<std::string> next_piece(net::ResponseStream& stream, const std::stop_token& stopped) {
  const auto patience = Clock::now() + longest_silence;
  for (;;) {
    if (stopped.stop_requested()) return Error{Errc::cancelled, "cancelled"};
    auto piece = stream.read(look_every);
    if (piece || piece.error().code != Errc::timeout) return piece;
    if (Clock::now() > patience)
      return Error{Errc::timeout, fmt::format("nothing came for {} s", longest_silence.count())};
  }
}

Result<net::ResponseStream> open_snapshot(const DiskTakeover& order) {
  net::HttpClientOptions options;
  options.address = (order.tls ? "https://" : "http://") + order.address;
  options.headers = {{"X-Nomad-Token", order.token}};
  options.connect_timeout = 5s;
  options.answer_timeout = 30s;
  options.connector = order.connector;
  auto client = NOMAD_TRY(net::HttpClient::make(std::move(options)));
  auto stream = NOMAD_TRY(
      client.open({.target = fmt::format("/v1/client/allocation/{}/snapshot", order.previous_id)}));
  if (stream.status() == 200) return stream;
  const auto why = stream.read(5s);
  return Error{Errc::unavailable, fmt::format("{} answers {}: {}", order.address, stream.status(),
                                              why ? why->substr(0, 512) : why.error().what)};
}

Result<> fetch(const DiskTakeover& order, const std::stop_token& stopped) {
  auto stream = NOMAD_TRY(open_snapshot(order));
  if (stopped.stop_requested()) return Error{Errc::cancelled, "cancelled"};
  const auto root = disk::open_directory(AT_FDCWD, order.alloc_root.c_str());
  if (!root) return errno_error("opening " + order.alloc_root, errno);
  NOMAD_TRY(host::remove_tree(root.get(), staging_name));
  NOMAD_TRY(disk::make_directory(root.get(), staging_name, 0700));
  const auto staging = order.alloc_root + '/' + staging_name;
  auto outcome = disk::unpack_disk([&] { return next_piece(stream, stopped); }, staging,
                                   order.previous_id, stopped);
  if (outcome) outcome = disk::move_disk(staging, order.alloc_root, order.tasks);
  if (const auto removed = host::remove_tree(root.get(), staging_name); !removed)
    log::warn("client", "cannot remove a directory",
              {{"path", staging}, {"error", removed.error()}});
  return outcome;
}

}  // namespace

Result<> take_over_disk(const DiskTakeover& order, const std::stop_token& stopped) {
  if (disk::is_in_use(order.alloc_root, order.tasks)) return {};
  if (order.here)
    return disk::move_disk(sibling(order.alloc_root, order.previous_id), order.alloc_root,
                           order.tasks);
  return fetch(order, stopped);
}

bool takes_disk_over(schema::TaskGroup::Reader group) {
  const auto disk = group.getEphemeralDisk();
  return disk.getSticky() || disk.getMigrate();
}

}  // namespace nomad::client
