#include "actors/api/body_transfer.hpp"

#include <deque>
#include <mutex>
#include <utility>

#include "runtime/base/bytes.hpp"

namespace nomad::api {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

/// Runs one job at a time, and once more for what was asked meanwhile.
class Turn {
public:
  /// Whether the caller is to start the job.
  bool begin() {
    const std::scoped_lock lock{guard_};
    again_ = true;
    return !std::exchange(runs_, true);
  }

  /// Whether the job that runs has something to do.
  bool take() {
    const std::scoped_lock lock{guard_};
    runs_ = std::exchange(again_, false);
    return runs_;
  }

private:
  std::mutex guard_;
  bool runs_ = false;
  bool again_ = false;
};

class Sender : public std::enable_shared_from_this<Sender> {
public:
  Sender(std::weak_ptr<net::RpcStream> stream,
         std::shared_ptr<const net::BodyFile> file,
         RunBlocking run,
         std::function<void(const Error&)> failed)
      : stream_{std::move(stream)},
        file_{std::move(file)},
        run_{std::move(run)},
        failed_{std::move(failed)} {}

  void go_on() {
    if (!turn_.begin()) return;
    std::function<void()> job = [self = shared_from_this()] {
      while (self->turn_.take())
        self->send();
    };
    if (run_(job)) return;
    while (turn_.take())
      fail({Errc::overloaded, "too many queries are waiting"});
  }

private:
  void send() {
    while (!is_over_) {
      const auto stream = stream_.lock();
      if (!stream) return;
      if (piece_.empty()) {
        auto bytes = file_->read(offset_, piece_bytes);
        if (!bytes) return fail(bytes.error());
        if (bytes->empty()) {
          is_over_ = true;
          return stream->end();
        }
        offset_ += bytes->size();
        piece_ = Bytes::copy(*bytes);
      }
      if (!stream->write(piece_)) return;
      piece_ = {};
    }
  }

  void fail(const Error& error) {
    is_over_ = true;
    if (const auto failed = std::exchange(failed_, nullptr)) failed(error);
  }

  const std::weak_ptr<net::RpcStream> stream_;
  const std::shared_ptr<const net::BodyFile> file_;
  const RunBlocking run_;
  Turn turn_;

  // Touched by whose turn it is.
  std::function<void(const Error&)> failed_;
  std::uint64_t offset_ = 0;
  Bytes piece_;  ///< What the stream did not take yet.
  bool is_over_ = false;
};

class Receiver : public std::enable_shared_from_this<Receiver> {
public:
  Receiver(std::weak_ptr<net::RpcStream> stream,
           std::shared_ptr<net::BodyFile> file,
           RunBlocking run,
           std::function<void(Result<>)> done)
      : stream_{std::move(stream)},
        file_{std::move(file)},
        run_{std::move(run)},
        done_{std::move(done)} {}

  void arrived(Bytes bytes, bool last) {
    {
      const std::scoped_lock lock{guard_};
      waiting_.push_back({std::move(bytes), last});
    }
    if (!turn_.begin()) return;
    std::function<void()> job = [self = shared_from_this()] {
      while (self->turn_.take())
        self->write();
    };
    if (run_(job)) return;
    while (turn_.take())
      finish(Error{Errc::overloaded, "too many queries are waiting"});
  }

private:
  struct Piece {
    Bytes bytes;
    bool last;
  };

  void write() {
    std::deque<Piece> pieces;
    {
      const std::scoped_lock lock{guard_};
      pieces.swap(waiting_);
    }
    for (const auto& piece : pieces) {
      if (!done_) return;
      if (auto written = file_->append(piece.bytes.text()); !written)
        return finish(std::move(written));
      if (const auto stream = stream_.lock()) stream->taken(piece.bytes.size());
      if (piece.last) finish({});
    }
  }

  void finish(Result<> outcome) {
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(outcome));
  }

  const std::weak_ptr<net::RpcStream> stream_;
  const std::shared_ptr<net::BodyFile> file_;
  const RunBlocking run_;
  Turn turn_;
  std::function<void(Result<>)> done_;  ///< Touched by whose turn it is.

  std::mutex guard_;
  std::deque<Piece> waiting_;
};

}  // namespace

void send_body(const std::shared_ptr<net::RpcStream>& stream,
               std::shared_ptr<const net::BodyFile> file,
               RunBlocking run,
               std::function<void(const Error&)> failed) {
  const auto sender
      = std::make_shared<Sender>(stream, std::move(file), std::move(run), std::move(failed));
  stream->on_writable([sender] { sender->go_on(); });
  sender->go_on();
}

void receive_body(const std::shared_ptr<net::RpcStream>& stream,
                  std::shared_ptr<net::BodyFile> file,
                  RunBlocking run,
                  std::function<void(Result<>)> done) {
  const auto receiver
      = std::make_shared<Receiver>(stream, std::move(file), std::move(run), std::move(done));
  stream->on_data([receiver](const Bytes& bytes, bool last) { receiver->arrived(bytes, last); });
}

}  // namespace nomad::api
