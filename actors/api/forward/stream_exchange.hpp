// StreamExchange: the Exchange of a request that another agent passed on. The answer goes back over
// the byte stream of that call (api_wire.hpp), as fast as the other side takes it. Of a tunnel the
// other direction of the stream is the input; its window bounds what is not acknowledged.
//
// Threads: as Exchange; its callbacks run on the threads of the transport.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "actors/rpc/router.hpp"
#include "runtime/net/http/exchange.hpp"

namespace nomad::api {

class StreamExchange final : public net::detail::Exchange,
                             public std::enable_shared_from_this<StreamExchange> {
public:
  /// `inbound` has a byte stream. Fill in `request` before it is served.
  static std::shared_ptr<StreamExchange> make(const rpc::Inbound& inbound);

  bool take(Turns::Action&) override { return false; }

  void send(net::Response response) override;
  void start_stream(net::Response head) override;
  bool write(std::string_view chunk, std::function<void()> drained) override;
  void end(bool properly) override;
  void drop() override;
  bool abandoned() const override;
  std::size_t queued() const override;
  void on_abandoned(std::function<void()> callback) override;
  void start_tunnel(net::Response head) override;
  void on_data(std::function<void(std::string_view bytes, bool last)> callback) override;
  void taken(std::size_t count) override;
  void end_output() override;

private:
  /// Bytes that may wait here, beyond the window of the stream.
  static constexpr std::size_t queue_bytes = 4 * 1024 * 1024;

  struct Piece {
    Bytes bytes;
    std::function<void()> drained;
  };

  using Listener = std::function<void(std::string_view bytes, bool last)>;

  StreamExchange(std::shared_ptr<net::RpcStream> stream, rpc::ReplyTo reply);

  void arrived(std::string_view bytes, bool last);

  void add(Bytes bytes, std::function<void()> drained);  ///< Under the lock.
  void pump();
  void cancelled();

  std::shared_ptr<net::RpcStream> stream_;
  rpc::ReplyTo reply_;

  mutable std::mutex guard_;
  std::shared_ptr<StreamExchange>
      itself_;  ///< While its end waits for the stream, for nobody else.
  std::deque<Piece> pieces_;
  std::size_t queued_ = 0;
  std::function<void()> abandoned_;
  std::shared_ptr<const Listener> listener_;  ///< Of a tunnel's input.
  bool is_answered_ = false;
  bool is_ending_ = false;    ///< The body is complete once `pieces_` are sent.
  bool output_ends_ = false;  ///< So is the output of a tunnel.
  bool output_ended_ = false;
  bool is_over_ = false;       ///< The call is answered.
  bool is_abandoned_ = false;  ///< Nobody wants the answer any more.
};

}  // namespace nomad::api
