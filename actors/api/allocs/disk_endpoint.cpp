// GET /v1/client/allocation/<id>/snapshot: the ephemeral disk of an allocation, as an archive for
// the node that goes on with it. What counts is the migrate token, which the servers give to that
// node alone; it stands where other requests have the token of their user.
#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/http/routes.hpp"
#include "runtime/base/log.hpp"
#include "runtime/disk/disk_snapshot.hpp"

namespace nomad::api {

namespace {

namespace ca = client::client_api;

/// An archive on its way, made as the other side takes it, on the threads for archives.
class DiskStream : public std::enable_shared_from_this<DiskStream> {
public:
  DiskStream(std::string alloc_id,
             disk::DiskSnapshot snapshot,
             net::BodyStream body,
             RunBlocking run)
      : alloc_id_{std::move(alloc_id)},
        snapshot_{std::move(snapshot)},
        body_{std::move(body)},
        run_{std::move(run)} {}

  /// From any thread.
  void go_on() {
    std::function<void()> job = [self = shared_from_this()] { self->send_piece(); };
    if (!run_(job)) body_.abort();
  }

private:
  void send_piece() {
    const auto piece = snapshot_.next();
    if (!piece) {
      log::warn("http", "sending an allocation's disk failed",
                {{"alloc", alloc_id_}, {"error", piece.error()}});
      return body_.abort();
    }
    if (piece->empty()) return body_.close();
    if (!body_.write(*piece, [self = shared_from_this()] { self->go_on(); })) body_.abort();
  }

  const std::string alloc_id_;
  disk::DiskSnapshot snapshot_;
  net::BodyStream body_;
  RunBlocking run_;
};

Outcome send_disk(Call& call, const ca::AllocDir& dir) {
  std::vector<std::string> tasks;
  for (const auto& task : dir.tasks)
    tasks.push_back(task.name);
  auto snapshot = NOMAD_TRY(disk::DiskSnapshot::open(dir.path, call.rest, std::move(tasks)));
  auto body = call.responder.stream({.status = 200, .content_type = "application/x-tar"});
  std::make_shared<DiskStream>(call.rest, std::move(snapshot), std::move(body),
                               run_blocking(call.context))
      ->go_on();
  return later;
}

}  // namespace

Outcome alloc_snapshot(Call& call, const ClientParts& parts) {
  if (!parts.client) return bad_request("node is not running a Nomad Client");
  NOMAD_TRY(check_id("alloc", call.rest));
  ca::DiskOf question{call.rest, std::string{call.request().header("X-Nomad-Token")}};
  const auto shared = share(std::move(call));
  shared->context->asker.ask<ca::AllocDir>(
      parts.client, std::move(question), ask_timeout, [shared](Result<ca::AllocDir> dir) {
        if (!dir) return shared->fail(dir.error());
        run_on(shared->context->archives, shared,
               [dir = *dir](Call& asked) { return send_disk(asked, dir); });
      });
  return later;
}

}  // namespace nomad::api
