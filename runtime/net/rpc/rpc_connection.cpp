#include "runtime/net/rpc/rpc_connection.hpp"

#include <utility>

#include <netinet/tcp.h>
#include <sys/socket.h>

#include "runtime/base/guard.hpp"
#include "runtime/base/log.hpp"

namespace nomad::net {
namespace {

/// What is handed to the socket at once, and what the kernel may hold unsent.
constexpr std::size_t batch_bytes = 64 * 1024;

void set_low_water(int fd) {
  const int bytes = batch_bytes;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes);
}

}  // namespace

RpcSocket::RpcSocket(std::shared_ptr<RpcWorker> worker,
                     Descriptor socket,
                     std::string remote,
                     ConnectionLimits::Slot slot,
                     std::optional<Dialed> dialed)
    : StreamSocket{*worker, std::move(socket)},
      worker_{std::move(worker)},
      remote_{std::move(remote)},
      slot_{std::move(slot)},
      dialed_{std::move(dialed)},
      phase_{dialed_ ? Phase::connecting : Phase::securing},
      deadline_{RpcClock::now()
                + (dialed_ ? worker_->shared->options.connect_timeout
                           : worker_->shared->options.handshake_timeout)},
      address_deadline_{share_of_dial()} {
  peer_.remote = remote_;
  peer_.accepted = !dialed_;
  auto hello = worker_->shared->options.hello;
  if (dialed_) hello.for_raft = dialed_->where.for_raft;
  mux_.emplace(dialed_ ? RpcMux::Side::dialer : RpcMux::Side::acceptor, hello,
               worker_->shared->options.limits, RpcClock::now());
}

RpcSocket::~RpcSocket() = default;

std::shared_ptr<RpcSocket> RpcSocket::self() {
  return std::static_pointer_cast<RpcSocket>(shared_from_this());
}

// -- any thread

void RpcSocket::call(RpcRequest request, RpcDone done) {
  worker_->post([self = self(), request = std::move(request), done = std::move(done)]() mutable {
    self->begin(std::move(request), {std::move(done), {}}, {});
  });
}

RpcConnection::StreamCall RpcSocket::call_with_stream(RpcRequest request, RpcDone done) {
  const auto stream
      = std::make_shared<detail::StreamEnd>(worker_, worker_->shared->options.limits.window_bytes);
  const auto id = std::make_shared<RpcStreamId>(0);
  request.byte_stream = true;
  worker_->post(
      [self = self(), request = std::move(request), done = std::move(done), stream, id]() mutable {
        self->begin(std::move(request), {std::move(done), stream}, id);
      });
  return {stream, [weak = std::weak_ptr{self()}, id] {
            const auto self = weak.lock();
            if (!self) return;
            self->worker_->post([self, id] {
              const auto call = self->calls_.extract(*id);
              if (call.empty()) return;
              self->mux_->cancel(*id);
              self->flush_soon();
              if (call.mapped().stream) call.mapped().stream->close();
              call.mapped().done({Error{Errc::cancelled, "the call was withdrawn"}, true, false});
            });
          }};
}

void RpcSocket::post(RpcRequest request, std::function<void(Result<>)> done) {
  request.one_way = true;
  worker_->post([self = self(), request = std::move(request), done = std::move(done)]() mutable {
    if (self->phase_ != Phase::open)
      return done(Error{Errc::unavailable, "the connection is closed"});
    const auto number = self->next_post_++;
    if (auto posted = self->mux_->post(std::move(request), number); !posted)
      return done(posted.error());
    self->posts_.emplace(number, std::move(done));
    self->flush_soon();
  });
}

void RpcSocket::close(std::string reason) {
  worker_->post([self = self(), reason = std::move(reason)] {
    self->end({Errc::unavailable, reason});
  });
}

void RpcSocket::begin(RpcRequest request, Call call, std::shared_ptr<RpcStreamId> id) {
  const auto refuse = [&](const Error& why) {
    if (call.stream) call.stream->close();
    call.done({why, false, false});
  };
  if (phase_ != Phase::open)
    return refuse({Errc::unavailable, "the connection with " + remote_ + " is closed"});
  const auto made = mux_->call(std::move(request), RpcClock::now());
  if (!made) return refuse(made.error());
  if (id) *id = *made;
  if (call.stream) call.stream->attach(self(), *made);
  calls_.emplace(*made, std::move(call));
  flush_soon();
}

void RpcSocket::answer(RpcStreamId id, Result<Bytes> outcome) {
  if (const auto exchange = exchanges_.find(id); exchange != exchanges_.end()) {
    const auto stream = exchange->second->stream;
    if (stream && !stream->finish(outcome)) return;
    exchanges_.erase(id);
    if (stream) stream->close();
  }
  if (outcome)
    mux_->respond(id, std::move(*outcome));
  else
    mux_->fail(id, outcome.error());
  flush_soon();
}

// -- the way to `open`

void RpcSocket::start() {
  set_tcp_options(native_handle());
  set_low_water(native_handle());
  if (phase_ == Phase::connecting)
    await_connection();
  else
    secure();
}

Result<Descriptor> RpcSocket::connect_to_one(std::deque<Address>& addresses) {
  Error last{Errc::unavailable, "no such host"};
  while (!addresses.empty()) {
    const auto address = addresses.front();
    addresses.pop_front();
    auto socket = begin_connect(address.data(), static_cast<socklen_t>(address.size()));
    if (socket) return socket;
    last.what = socket.error().what;
  }
  return last;
}

/// What is left for dialing, divided among the addresses that are left.
RpcClock::time_point RpcSocket::share_of_dial() const {
  const auto now = RpcClock::now();
  const auto count
      = static_cast<RpcClock::rep>(1 + (dialed_ ? dialed_->other_addresses.size() : 0));
  return now + (deadline_ - now) / count;
}

/// Gives this address up for the next one. False: there is none.
bool RpcSocket::dial_next() {
  auto next = connect_to_one(dialed_->other_addresses);
  if (!next) return false;
  replace(std::move(*next));
  address_deadline_ = share_of_dial();
  start();
  return true;
}

void RpcSocket::on_connected(int error_number) {
  if (error_number != 0 && dial_next()) return;
  if (error_number != 0)
    return end({Errc::unavailable, "dial tcp " + remote_ + ": connect: " + go_text(error_number)});
  deadline_ = RpcClock::now() + worker_->shared->options.handshake_timeout;
  secure();
}

void RpcSocket::secure() {
  phase_ = Phase::securing;
  const auto& context = worker_->shared->options.tls;
  if (!context) return open();
  open(dialed_ ? context->connect(native_handle(), "") : context->accept(native_handle()));
}

void RpcSocket::on_open() {
  peer_.is_tls = channel().is_secure();
  peer_.certificate = channel().peer();
  phase_ = Phase::greeting;
  flush_soon();
  read_on();
}

void RpcSocket::on_event(RpcGreeted& event) {
  peer_.hello = std::move(event.hello);
  const auto& options = worker_->shared->options;
  auto allowed = check_claims(peer_, options.verify_role, options.hello.region);
  if (allowed && dialed_ && peer_.hello.role != dialed_->where.role)
    allowed = Error{Errc::permission_denied, "it is no server"};
  if (allowed && dialed_ && !dialed_->where.region.empty()
      && peer_.hello.region != dialed_->where.region)
    allowed = Error{Errc::permission_denied, "it is of region \"" + peer_.hello.region
                                                 + "\", not \"" + dialed_->where.region + '"'};
  if (!allowed) return end(allowed.error());
  phase_ = Phase::open;
  open_ = true;
  flush_soon();
  if (worker_->shared->callbacks.on_open) worker_->shared->callbacks.on_open(self());
  finish_dial(RpcConnectionRef{self()});
}

void RpcSocket::check(RpcClock::time_point now) {
  if (phase_ == Phase::closed) return;
  if (phase_ != Phase::open) {
    if (phase_ == Phase::connecting && now >= address_deadline_ && dial_next()) return;
    if (now >= deadline_)
      end({Errc::timeout, phase_ == Phase::connecting ? "dial tcp " + remote_ + ": i/o timeout"
                                                      : "no complete handshake in time"});
    return;
  }
  RpcEvents events;
  const auto alive = mux_->expire(now, events);
  dispatch(events);
  if (!alive) return end(alive.error());
  if (mux_->has_output()) flush_soon();
  read_on();
}

void RpcSocket::say_goodbye(std::string_view why) {
  if (phase_ != Phase::open) return;
  mux_->say_goodbye(why);
  flush();
}

void RpcSocket::end(const Error& reason) {
  if (phase_ == Phase::closed) return;
  const auto self = this->self();
  const bool was_open = phase_ == Phase::open;
  const bool was_greeting = phase_ == Phase::greeting;
  const bool is_fault = reason.code != Errc::unavailable && reason.code != Errc::cancelled;
  phase_ = Phase::closed;
  open_ = false;
  if (is_fault)
    log::warn("rpc", "closing a connection", {{"peer", remote_}, {"error", reason}});
  else
    log::debug("rpc", "a connection ended", {{"peer", remote_}, {"error", reason}});
  if (was_greeting && is_fault && peer_.accepted && mux_->peer()) refuse_entry(reason.what);
  if (was_open) channel().say_goodbye();
  close_socket();
  RpcEvents events;
  const Error lost{is_fault && reason.code != Errc::timeout ? reason.code : Errc::unavailable,
                   remote_ + ": " + reason.what};
  mux_->abort(lost, events);
  dispatch(events);
  queued_ = 0;
  finish_dial(lost);
  if (was_open && worker_->shared->callbacks.on_closed)
    worker_->shared->callbacks.on_closed(self, reason);
  slot_.leave();
}

void RpcSocket::finish_dial(const Result<RpcConnectionRef>& outcome) {
  if (!dialed_) return;
  if (const auto done = std::exchange(dialed_->done, {})) done(outcome);
}

/// A goodbye in place of our hello, if the socket takes it at once, so that the other side's log
/// says why.
void RpcSocket::refuse_entry(std::string_view why) {
  RpcFrameHeader header;
  header.kind = RpcFrameKind::goodbye;
  header.first = header.last = true;
  header.length = static_cast<std::uint32_t>(why.size());
  const auto head = encode(header);
  std::string frame{reinterpret_cast<const char*>(head.data()), head.size()};
  frame += why;
  if (!channel().write(frame))
    log::debug("rpc", "a peer was not told why it is refused", {{"peer", remote_}});
}

// -- input

void RpcSocket::on_input(std::string_view bytes) {
  RpcEvents events;
  const auto taken = mux_->receive(std::as_bytes(std::span{bytes}), RpcClock::now(), events);
  dispatch(events);
  if (phase_ == Phase::closed) return;
  if (!taken) return end(taken.error());
  if (mux_->has_output() || !output().empty()) flush_soon();
}

void RpcSocket::on_failure(const Error& why) {
  end({why.code == Errc::io ? Errc::unavailable : why.code, why.what});  // nobody's fault
}

void RpcSocket::on_input_end() {
  end({Errc::unavailable, "the peer hung up"});
}

void RpcSocket::dispatch(RpcEvents& events) {
  for (auto& event : events)
    guarded("rpc", [&] { std::visit([this](auto& each) { on_event(each); }, event); });
}

void RpcSocket::on_event(RpcRequested& event) {
  if (phase_ != Phase::open) return;
  const auto self = this->self();
  auto exchange
      = std::make_shared<detail::RpcExchange>(self, event.stream, std::move(event.request));
  if (event.stream != 0) {
    if (exchange->request.byte_stream) {
      exchange->stream = std::make_shared<detail::StreamEnd>(
          worker_, worker_->shared->options.limits.window_bytes);
      exchange->stream->attach(self, event.stream);
    }
    exchanges_.emplace(event.stream, exchange);
  }
  worker_->shared->callbacks.on_request(RpcResponder{std::move(exchange)});
}

void RpcSocket::on_event(RpcAnswered& event) {
  auto call = calls_.extract(event.stream);
  if (call.empty()) return;
  if (call.mapped().stream) call.mapped().stream->close();
  call.mapped().done({std::move(event.outcome), event.was_sent, event.by_peer});
}

void RpcSocket::on_event(RpcPosted& event) {
  auto post = posts_.extract(event.number);
  if (!post.empty()) post.mapped()(event.outcome);
}

void RpcSocket::on_event(RpcCancelled& event) {
  const auto exchange = exchanges_.extract(event.stream);
  if (exchange.empty()) return;
  if (exchange.mapped()->stream) exchange.mapped()->stream->close();
  exchange.mapped()->cancel();
}

detail::StreamEnd* RpcSocket::stream_of(RpcStreamId id) {
  if (const auto call = calls_.find(id); call != calls_.end()) return call->second.stream.get();
  if (const auto asked = exchanges_.find(id); asked != exchanges_.end())
    return asked->second->stream.get();
  return nullptr;
}

void RpcSocket::on_event(RpcData& event) {
  if (auto* stream = stream_of(event.stream)) stream->deliver(std::move(event.bytes), event.last);
}

void RpcSocket::on_event(RpcWritable& event) {
  if (auto* stream = stream_of(event.stream)) stream->push();
}

void RpcSocket::on_event(RpcGoodbye& event) {
  if (phase_ != Phase::open)
    return end({Errc::permission_denied, "the peer refuses: " + event.why});
  log::debug("rpc", "a peer says goodbye", {{"peer", remote_}, {"error", event.why}});
  open_ = false;  // the pool makes another
}

// -- output

/// One batch: until the kernel has taken it something more urgent may come.
void RpcSocket::fill() {
  if (phase_ == Phase::greeting && peer_.accepted) return;  // who dials speaks first
  RpcEvents events;
  auto& out = output().text();
  while (out.size() < batch_bytes / 2) {
    const auto piece = mux_->next_output(events);
    if (!piece) break;
    out.append(reinterpret_cast<const char*>(piece->header.data()), piece->header.size());
    out.append(piece->payload.text());
  }
  queued_ = mux_->queued_bytes() + out.size();
  dispatch(events);
}

void RpcSocket::on_progress() {
  read_on();  // input may have waited for output to leave
}

void RpcSocket::on_sent() {
  if (phase_ == Phase::greeting && peer_.accepted) return;
  if (mux_->has_output()) return flush_when_writable();
  queued_ = 0;
}

}  // namespace nomad::net
