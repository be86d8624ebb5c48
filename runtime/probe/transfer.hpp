// Transfer: one probe as libcurl carries it out: what is sent, what is kept of the answer, where a
// redirect leads, and what comes out. Internal to runtime/probe; on the prober's thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/probe/curl_library.hpp"
#include "runtime/probe/prober.hpp"

namespace nomad::probe {

class Transfer {
public:
  using Clock = std::chrono::steady_clock;

  Transfer(Prober::Id id, Probe probe, Prober::Done done, Clock::time_point now);
  Transfer(const Transfer&) = delete;
  ~Transfer();  ///< It is in no multi handle any more.

  Prober::Id id() const { return id_; }

  CURL* easy() const { return easy_; }

  /// Sets the handle up for the request, or says why there is none that could be sent.
  std::optional<Outcome> prepare();

  /// Whether the answer that ended with `code` sends us elsewhere; then `prepare` follows again.
  bool redirect();

  /// What the probe came to; after `redirect` said no.
  Outcome outcome(CURLcode code) const;

  /// Hands it to whoever has asked.
  void finish(Outcome outcome) { done_(std::move(outcome)); }

private:
  static std::size_t take_header(char* bytes, std::size_t one, std::size_t size, void* transfer);
  static std::size_t take_body(char* bytes, std::size_t one, std::size_t size, void* transfer);

  void prepare_common();
  void prepare_http();
  void prepare_grpc();
  void prepare_tls();
  void add_header(const std::string& line);
  bool may_send(std::string_view header) const;
  std::string flaw() const;
  bool has_enough() const;
  Outcome http_outcome(CURLcode code) const;
  Outcome grpc_outcome(CURLcode code) const;
  std::string failure(CURLcode code) const;
  Outcome failed(const std::string& why) const;

  const Prober::Id id_;
  const Probe probe_;
  const Prober::Done done_;
  const Clock::time_point deadline_;
  CURL* easy_;
  curl_slist* headers_ = nullptr;
  curl_slist* connect_to_ = nullptr;
  char why_[CURL_ERROR_SIZE] = "";

  std::string url_;     ///< Where it goes; changes with redirects.
  std::string method_;  ///< The same.
  bool sends_body_ = true;
  bool is_elsewhere_ = false;      ///< A redirect has led to another host.
  bool keeps_host_header_ = true;  ///< Redirects so far were relative.
  int redirects_ = 0;
  bool too_many_redirects_ = false;

  long status_ = 0;       ///< Of the answer whose header is complete; 0: none.
  std::string location_;  ///< Of the answer that arrives.
  std::string received_;  ///< The beginning of its body.
  std::optional<int> grpc_status_;
  std::string grpc_message_;
};

}  // namespace nomad::probe
