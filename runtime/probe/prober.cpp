#include "runtime/probe/prober.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/net/http/client/async_http_client.hpp"
#include "runtime/net/tls/tls_context.hpp"
#include "runtime/probe/grpc_call.hpp"
#include "runtime/probe/probe_http.hpp"

namespace nomad::probe {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t most_kept = 3 * 1024;

/// The authorities of the system are read anew after so long: they change.
constexpr auto trusted_for = 1min;

class ClientProber final : public Prober {
public:
  void start(Id id, Probe probe, Done done) override {
    client_.post([this, id, probe = std::move(probe), done = std::move(done)]() mutable {
      const auto [run, is_new] = runs_.try_emplace(id, Run{.number = ++runs_begun_, .done = {}});
      if (!is_new) return;
      run->second.done = std::move(done);
      begin(id, run->second, probe);
    });
  }

  void cancel(Id id) override {
    client_.post([this, id] {
      const auto found = runs_.find(id);
      if (found == runs_.end()) return;
      client_.cancel(found->second.call);
      runs_.erase(found);
    });
  }

private:
  struct Run {
    std::uint64_t number = 0;  ///< Another one may have the same id later.
    net::AsyncHttpClient::CallId call = 0;
    Done done;
  };

  struct Trust {
    std::shared_ptr<net::TlsContext> context{};
    Clock::time_point since{};
  };

  // -- on the client's thread

  void begin(Id id, Run& run, const Probe& probe) {
    const auto number = run.number;
    const auto end
        = [this, id, number](Outcome outcome) { finish(id, number, std::move(outcome)); };
    auto request = probe.kind == Kind::http ? request_of(probe) : peer_of(probe);
    request.trust = [this, anybody = probe.tls_skip_verify] { return trust(anybody); };
    const net::HttpLimits limits{
        .whole = std::clamp<std::chrono::milliseconds>(probe.timeout, 1ms, 10min),
        .body_bytes = most_kept};
    switch (probe.kind) {
      case Kind::http:
        run.call = client_.send(
            std::move(request), limits,
            {.ended = [end](const net::HttpOutcome& told) { end(http_outcome(told)); },
             .head = is_body_wanted});
        return;
      case Kind::tcp:
        run.call = client_.dial(std::move(request), limits, tcp_handlers(probe, end));
        return;
      case Kind::grpc:
        run.call = client_.dial(std::move(request), limits, grpc_handlers(probe, end));
        return;
    }
  }

  using End = std::function<void(Outcome)>;

  static net::HttpHandlers tcp_handlers(const Probe& probe, const End& end) {
    return {
        .ended = [probe, end](const net::HttpOutcome& told) { end(failed(probe, *told.failure)); },
        .opened =
            [end](net::HttpTunnel& tunnel) {
              tunnel.close();
              end({.passed = true, .output = "nomad: tcp ok"});
            }};
  }

  static net::HttpHandlers grpc_handlers(const Probe& probe, const End& end) {
    struct Exchange {
      GrpcCall call;
      net::HttpTunnel* tunnel = nullptr;
    };

    const auto exchange
        = std::make_shared<Exchange>(Exchange{.call = GrpcCall{question_of(probe)}});
    return {.ended =
                [probe, end](const net::HttpOutcome& told) {
                  end(told.failure ? failed(probe, *told.failure) : failed("EOF"));
                },
            .piece = [exchange, end](std::string_view bytes) -> Result<> {
              auto answer = NOMAD_TRY(exchange->call.feed(bytes));
              if (answer) {
                exchange->tunnel->close();
                end(grpc_outcome(*answer));
              } else {
                exchange->tunnel->write(exchange->call.take_output());
                if (exchange->tunnel->queued() > GrpcCall::most_queued_bytes)
                  return Error{Errc::too_large, "the peer does not read what it asks for"};
              }
              return {};
            },
            .opened =
                [exchange](net::HttpTunnel& tunnel) {
                  exchange->tunnel = &tunnel;
                  tunnel.write(exchange->call.take_output());
                }};
  }

  void finish(Id id, std::uint64_t number, Outcome outcome) {
    const auto found = runs_.find(id);
    if (found == runs_.end() || found->second.number != number) return;
    const auto done = std::move(found->second.done);
    runs_.erase(found);
    done(std::move(outcome));
  }

  Result<std::shared_ptr<const net::TlsContext>> trust(bool anybody) {
    auto& kept = anybody ? anybody_ : system_;
    const auto now = Clock::now();
    if (!kept.context || (!anybody && now - kept.since > trusted_for)) {
      kept.context = NOMAD_TRY(net::TlsContext::make({.verify_outgoing = !anybody}));
      kept.since = now;
    }
    return std::shared_ptr<const net::TlsContext>{kept.context};
  }

  std::uint64_t runs_begun_ = 0;
  std::unordered_map<Id, Run> runs_;
  Trust anybody_;
  Trust system_;
  net::AsyncHttpClient client_{{.thread = "probes", .most_kept = 0}};  ///< Ends before the rest.
};

}  // namespace

std::unique_ptr<Prober> make_prober() {
  return std::make_unique<ClientProber>();
}

}  // namespace nomad::probe
