#include "actors/api/forward/body_transfer.hpp"

#include <deque>
#include <mutex>
#include <utility>

#include "actors/api/http/call.hpp"
#include "runtime/base/bytes.hpp"

namespace nomad::api {
namespace {

constexpr std::size_t piece_bytes = 64 * 1024;

/// One direction of a transfer: its steps run one at a time on `run`'s threads, and one more for
/// what was asked meanwhile. The members of who derives are touched by the step that runs.
class Transfer : public std::enable_shared_from_this<Transfer> {
public:
  Transfer(std::weak_ptr<net::RpcStream> stream, RunBlocking run)
      : stream_{std::move(stream)}, run_{std::move(run)} {}

  virtual ~Transfer() = default;

  void go_on() {
    if (!begin()) return;
    std::function<void()> job = [self = shared_from_this()] {
      while (self->take())
        self->step();
    };
    if (run_(job)) return;
    while (take())
      fail(too_many_queries());
  }

protected:
  const std::weak_ptr<net::RpcStream> stream_;

private:
  virtual void step() = 0;
  virtual void fail(const Error& error) = 0;

  /// Whether the caller is to start the steps.
  bool begin() {
    const std::scoped_lock lock{guard_};
    again_ = true;
    return !std::exchange(runs_, true);
  }

  /// Whether there is another step.
  bool take() {
    const std::scoped_lock lock{guard_};
    runs_ = std::exchange(again_, false);
    return runs_;
  }

  const RunBlocking run_;
  std::mutex guard_;
  bool runs_ = false;
  bool again_ = false;
};

class Sender final : public Transfer {
public:
  Sender(std::weak_ptr<net::RpcStream> stream,
         std::shared_ptr<const net::BodyFile> file,
         RunBlocking run,
         std::function<void(const Error&)> failed)
      : Transfer{std::move(stream), std::move(run)},
        file_{std::move(file)},
        failed_{std::move(failed)} {}

private:
  void step() override {
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

  void fail(const Error& error) override {
    is_over_ = true;
    if (const auto failed = std::exchange(failed_, nullptr)) failed(error);
  }

  const std::shared_ptr<const net::BodyFile> file_;
  std::function<void(const Error&)> failed_;
  std::uint64_t offset_ = 0;
  Bytes piece_;  ///< What the stream did not take yet.
  bool is_over_ = false;
};

class Receiver final : public Transfer {
public:
  Receiver(std::weak_ptr<net::RpcStream> stream,
           std::shared_ptr<net::BodyFile> file,
           RunBlocking run,
           std::function<void(Result<>)> done)
      : Transfer{std::move(stream), std::move(run)},
        file_{std::move(file)},
        done_{std::move(done)} {}

  void arrived(Bytes bytes, bool last) {
    {
      const std::scoped_lock lock{guard_};
      waiting_.push_back({std::move(bytes), last});
    }
    go_on();
  }

private:
  struct Piece {
    Bytes bytes;
    bool last;
  };

  void step() override {
    std::deque<Piece> pieces;
    {
      const std::scoped_lock lock{guard_};
      pieces.swap(waiting_);
    }
    for (const auto& piece : pieces) {
      if (!done_) return;
      if (const auto written = file_->append(piece.bytes.text()); !written)
        return fail(written.error());
      if (const auto stream = stream_.lock()) stream->taken(piece.bytes.size());
      if (piece.last) finish({});
    }
  }

  void fail(const Error& error) override { finish(error); }

  void finish(Result<> outcome) {
    if (const auto done = std::exchange(done_, nullptr)) done(std::move(outcome));
  }

  const std::shared_ptr<net::BodyFile> file_;
  std::function<void(Result<>)> done_;

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
