// Follower: sends a file stream or a task's logs to a client, and what is appended as long as it
// follows. Lives on the FileService's thread; shared by whoever may wake it.
//
// A client that reads slowly is waited for: nothing more is read from the disk while more than
// `enough_queued` bytes are on their way to it.
//
// It follows until the allocation has ended, which it asks the node with each heartbeat, and then
// sends what is left: unlike in Nomad, where one follows for ever.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/api/allocs/file_service.hpp"
#include "actors/api/http/call.hpp"
#include "runtime/base/log.hpp"
#include "runtime/host/beneath.hpp"
#include "runtime/host/file_stream.hpp"

namespace nomad::api {

struct FollowStyle {
  bool plain = false;  ///< Bare bytes instead of frames; no heartbeats.
  bool follow = false;
  client::ClientApi node{};  ///< Who is asked, with what, whether it goes on.
  std::optional<client::client_api::AllocDirOf> alloc{};
};

/// One frame: `{"Data":"…","File":"…","FileEvent":"…","Offset":…}`; empty members are left out.
std::string file_frame(const host::StreamChunk& chunk);

template <class Stream>
class Follower : public std::enable_shared_from_this<Follower<Stream>> {
public:
  Follower(std::shared_ptr<Context> context,
           std::unique_ptr<host::Beneath> directory,
           Stream stream,
           net::BodyStream body,
           FollowStyle style)
      : context_{std::move(context)},
        directory_{std::move(directory)},
        stream_{std::make_unique<Stream>(std::move(stream))},
        body_{std::move(body)},
        style_{std::move(style)} {}

  void start(host::FileWatcher* watcher) {
    body_.on_abandoned(turns_.callback([self = this->shared_from_this()] { self->finish(); }));
    if (style_.follow && watcher != nullptr)
      if (const auto watched = stream_->watch(*watcher,
                                              [weak = this->weak_from_this()] {
                                                if (const auto self = weak.lock()) self->pump();
                                              });
          !watched)
        log::warn("http", "following a file failed", {{"error", watched.error()}});
    if (style_.alloc)
      rights_ = context_->rights_watch.renew(
          style_.alloc->asking.who,
          turns_.callback([weak = this->weak_from_this()](const Result<access::Principal>& who) {
            if (const auto self = weak.lock()) self->go_on_as(who);
          }));
    pump();
    if (style_.follow) beat_later();
  }

private:
  static constexpr std::size_t enough_queued = 512 * 1024;
  static constexpr int chunks_at_once = 16;
  static constexpr std::chrono::seconds heartbeat{1};

  void pump() {
    for (int i = 0; i < chunks_at_once && stream_; ++i) {
      if (body_.queued() > enough_queued) {
        if (!std::exchange(is_waiting_, true)) wait_for_client();
        return;
      }
      auto chunk = stream_->read();
      if (!chunk) {
        log::debug("http", "reading a followed file failed", {{"error", chunk.error()}});
        finish();
        return;
      }
      if (!*chunk) {
        if (stream_->finished()) finish();
        return;
      }
      if (!body_.write(style_.plain ? (*chunk)->data : file_frame(**chunk))) {
        finish();
        return;
      }
      has_written_ = true;
      if constexpr (requires(const Stream& stream) { stream.should_rest(); })
        if (stream_->should_rest()) break;
    }
    turns_.post([self = this->shared_from_this()] { self->pump(); });  // others read in between
  }

  /// An empty piece is drained when everything before it is.
  void wait_for_client() {
    const bool taken = body_.write({}, turns_.callback([self = this->shared_from_this()] {
      self->is_waiting_ = false;
      self->pump();
    }));
    if (!taken) finish();
  }

  void beat_later() {
    context_->timers.call_after(
        heartbeat, turns_.callback([self = this->shared_from_this()] { self->beat(); }));
  }

  void beat() {
    if (!stream_) return;
    if (!std::exchange(has_written_, false) && !style_.plain) body_.write("{}");
    beat_later();
    if (!std::exchange(is_asking_, true)) ask_whether_ended();
  }

  /// The node may be slow to answer, or never do.
  void ask_whether_ended() {
    context_->asker.ask<client::client_api::AllocDir>(
        style_.node, client::client_api::AllocDirOf{*style_.alloc}, ask_timeout,
        turns_.callback(
            [self = this->shared_from_this()](const Result<client::client_api::AllocDir>& dir) {
              const bool gone = !dir && dir.error().code == Errc::not_found;
              self->is_asking_ = false;
              if (!dir && dir.error().code == Errc::permission_denied) self->finish();
              if (gone || (dir && dir->ended)) self->end();
            }));
  }

  /// Who may not read it any more has seen the last of it.
  void go_on_as(const Result<access::Principal>& who) {
    if (!stream_) return;
    if (!who) return finish();
    style_.alloc->asking.who = *who;
    ask_whether_ended();
  }

  void end() {
    if (!stream_) return;
    stream_->stop_following();
    pump();
  }

  void finish() {
    stream_.reset();  // ends its watches, so on this thread
    body_.close();
  }

  std::shared_ptr<Context> context_;
  const Turns turns_ = context_->files->turns();
  std::unique_ptr<host::Beneath> directory_;  ///< The stream refers to it.
  std::unique_ptr<Stream> stream_;            ///< Null once finished.
  net::BodyStream body_;
  FollowStyle style_;
  RightsWatch::Watching rights_;
  bool is_waiting_ = false;
  bool has_written_ = false;
  bool is_asking_ = false;  ///< Whether the allocation has ended.
};

}  // namespace nomad::api
