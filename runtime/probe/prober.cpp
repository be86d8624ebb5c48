#include "runtime/probe/prober.hpp"

#include <mutex>
#include <unordered_map>
#include <utility>

#include <signal.h>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "runtime/net/event_loop.hpp"
#include "runtime/probe/transfer.hpp"

namespace nomad::probe {
namespace {

using boost::asio::posix::stream_descriptor;

/// One of libcurl's sockets, and what it waits for there.
class ProbeSocket : public std::enable_shared_from_this<ProbeSocket> {
public:
  using Ready = std::function<void(curl_socket_t, int what)>;

  ProbeSocket(boost::asio::io_context& io, curl_socket_t socket, Ready ready)
      : socket_{socket}, descriptor_{io, socket}, ready_{std::move(ready)} {}

  ~ProbeSocket() { let_go(); }

  void wait_for(int what) {
    wanted_ = what;
    if ((what & CURL_POLL_IN) != 0) arm(stream_descriptor::wait_read, CURL_CSELECT_IN);
    if ((what & CURL_POLL_OUT) != 0) arm(stream_descriptor::wait_write, CURL_CSELECT_OUT);
  }

  /// It is closed by libcurl, after this.
  void let_go() {
    if (descriptor_.is_open()) descriptor_.release();
  }

private:
  void arm(stream_descriptor::wait_type event, int what) {
    auto& is_armed = what == CURL_CSELECT_IN ? is_read_armed_ : is_write_armed_;
    if (std::exchange(is_armed, true)) return;
    descriptor_.async_wait(
        event, [self = shared_from_this(), &is_armed, what](const boost::system::error_code& bad) {
          is_armed = false;
          if (bad || !self->descriptor_.is_open()) return;
          const int wanted = what == CURL_CSELECT_IN ? CURL_POLL_IN : CURL_POLL_OUT;
          if ((self->wanted_ & wanted) == 0) return;
          self->ready_(self->socket_, what);
          if (self->descriptor_.is_open()) self->wait_for(self->wanted_);
        });
  }

  const curl_socket_t socket_;
  stream_descriptor descriptor_;
  const Ready ready_;
  int wanted_ = 0;
  bool is_read_armed_ = false;
  bool is_write_armed_ = false;
};

/// TLS writes to peers that have gone raise it, on this thread; libcurl leaves that to us.
void hold_back_sigpipe() {
  sigset_t pipe;
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

class CurlProber final : public Prober {
public:
  CurlProber() {
    multi_ = curl().multi_init();
    if (multi_ == nullptr) return;
    curl().multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl().multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
    curl().multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, on_timer);
    curl().multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
    curl().multi_setopt(multi_, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
  }

  ~CurlProber() override {
    loop_.stop([this] { drop_all(); });  // the loop ends with the last that it waits for
    curl().multi_cleanup(multi_);
  }

  void start(Id id, Probe probe, Done done) override {
    std::call_once(started_, [this] {
      loop_.start();
      loop_.post(hold_back_sigpipe);
    });
    loop_.post([this, id, probe = std::move(probe), done = std::move(done)]() mutable {
      auto transfer = std::make_unique<Transfer>(id, std::move(probe), std::move(done),
                                                 Transfer::Clock::now());
      auto* begun = transfer.get();
      if (transfers_.emplace(id, std::move(transfer)).second) begin(*begun);
    });
  }

  void cancel(Id id) override {
    loop_.post([this, id] { drop(id); });
  }

private:
  // -- what libcurl asks for, from within its calls: none of them may be called here

  static int on_socket(CURL*, curl_socket_t socket, int what, void* prober, void*) {
    auto& self = *static_cast<CurlProber*>(prober);
    const auto found = self.sockets_.find(socket);
    if (what == CURL_POLL_REMOVE) {
      if (found == self.sockets_.end()) return 0;
      found->second->let_go();
      self.sockets_.erase(found);
      return 0;
    }
    auto& watched = self.sockets_[socket];
    if (!watched)
      watched = std::make_shared<ProbeSocket>(
          self.loop_.io(), socket, [&self](curl_socket_t at, int event) { self.act(at, event); });
    watched->wait_for(what);
    return 0;
  }

  static int on_timer(CURLM*, long milliseconds, void* prober) {
    auto& self = *static_cast<CurlProber*>(prober);
    // "No timer" is one that does nothing.
    const std::chrono::milliseconds delay{milliseconds < 0 ? 3'600'000 : milliseconds};
    self.loop_.wake_at(std::chrono::steady_clock::now() + delay,
                       [&self] { self.act(CURL_SOCKET_TIMEOUT, 0); });
    return 0;
  }

  // -- on the loop's thread

  void act(curl_socket_t socket, int event) {
    int running = 0;
    curl().multi_socket_action(multi_, socket, event, &running);
    harvest();
  }

  void begin(Transfer& transfer) {
    if (auto impossible = transfer.prepare()) return end(transfer, std::move(*impossible));
    const auto failed = multi_ == nullptr ? CURLM_INTERNAL_ERROR
                                          : curl().multi_add_handle(multi_, transfer.easy());
    if (failed != CURLM_OK)
      end(transfer, {.output = std::string{"nomad: "} + curl().multi_strerror(failed)});
  }

  void harvest() {
    int left = 0;
    while (const auto* message = curl().multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      const auto code = message->data.result;
      char* found = nullptr;
      curl().easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &found);
      auto& transfer = *reinterpret_cast<Transfer*>(found);
      curl().multi_remove_handle(multi_, transfer.easy());  // `message` is gone with it
      if (transfer.redirect())
        begin(transfer);
      else
        end(transfer, transfer.outcome(code));
    }
  }

  /// It is in no multi handle.
  void end(Transfer& transfer, Outcome outcome) {
    const auto over = transfers_.extract(transfer.id());
    over.mapped()->finish(std::move(outcome));
  }

  void drop(Id id) {
    const auto found = transfers_.find(id);
    if (found == transfers_.end()) return;
    curl().multi_remove_handle(multi_, found->second->easy());
    transfers_.erase(found);
  }

  void drop_all() {
    for (const auto& [id, transfer] : transfers_)
      curl().multi_remove_handle(multi_, transfer->easy());
    transfers_.clear();
  }

  CURLM* multi_ = nullptr;
  std::once_flag started_;
  net::EventLoop loop_;  // outlives the sockets that it waits for
  std::unordered_map<Id, std::unique_ptr<Transfer>> transfers_;
  std::unordered_map<curl_socket_t, std::shared_ptr<ProbeSocket>> sockets_;
};

/// Where there is no libcurl.
class FailingProber final : public Prober {
public:
  explicit FailingProber(std::string why) : why_{std::move(why)} {}

  void start(Id, Probe, Done done) override { done({.output = "nomad: " + why_}); }

  void cancel(Id) override {}

private:
  std::string why_;
};

}  // namespace

std::unique_ptr<Prober> make_prober() {
  if (const auto& library = load_curl(); !library)
    return std::make_unique<FailingProber>(library.error().what);
  return std::make_unique<CurlProber>();
}

}  // namespace nomad::probe
