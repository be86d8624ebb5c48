#include "runtime/artifact/protocol/protocol.hpp"

#include <algorithm>
#include <cstring>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "schema/artifact.capnp.h"

namespace nomad::artifact {
namespace {

namespace wire = schema::artifact;

capnp::Text::Reader text_of(const std::string& text) {
  return {text.c_str(), text.size()};
}

std::string copy_of(capnp::Text::Reader text) {
  return {text.begin(), text.size()};
}

std::string flat(capnp::MessageBuilder& message) {
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
  const auto bytes = words.asChars();
  return {bytes.begin(), bytes.size()};
}

void write_limits(const FetchLimits& from, wire::Limits::Builder to) {
  to.setHttpReadTimeout(from.http_read_timeout.count());
  to.setHttpMaxBytes(from.http_max_bytes);
  to.setGcsTimeout(from.gcs_timeout.count());
  to.setGitTimeout(from.git_timeout.count());
  to.setHgTimeout(from.hg_timeout.count());
  to.setS3Timeout(from.s3_timeout.count());
  to.setUnpackedFiles(from.unpacked_files);
  to.setUnpackedBytes(from.unpacked_bytes);
}

FetchLimits read_limits(wire::Limits::Reader from) {
  using std::chrono::nanoseconds;
  return {.http_read_timeout = nanoseconds{from.getHttpReadTimeout()},
          .http_max_bytes = from.getHttpMaxBytes(),
          .gcs_timeout = nanoseconds{from.getGcsTimeout()},
          .git_timeout = nanoseconds{from.getGitTimeout()},
          .hg_timeout = nanoseconds{from.getHgTimeout()},
          .s3_timeout = nanoseconds{from.getS3Timeout()},
          .unpacked_files = from.getUnpackedFiles(),
          .unpacked_bytes = from.getUnpackedBytes()};
}

void write_reach(const Reach& from, wire::Reach::Builder to) {
  to.setLoopback(from.loopback);
  to.setLinkLocal(from.link_local);
  to.setAgent(from.agent);
  auto ports = to.initAgentPorts(static_cast<unsigned>(from.agent_ports.size()));
  for (unsigned i = 0; i < ports.size(); ++i)
    ports.set(i, from.agent_ports[i]);
  auto addresses = to.initAgentAddresses(static_cast<unsigned>(from.agent_addresses.size()));
  for (unsigned i = 0; i < addresses.size(); ++i)
    addresses.set(i, text_of(from.agent_addresses[i]));
}

Reach read_reach(wire::Reach::Reader from) {
  Reach reach{
      .loopback = from.getLoopback(), .link_local = from.getLinkLocal(), .agent = from.getAgent()};
  for (const auto port : from.getAgentPorts())
    reach.agent_ports.push_back(port);
  for (const auto address : from.getAgentAddresses())
    reach.agent_addresses.push_back(copy_of(address));
  return reach;
}

FetchOrder order_of(wire::FetchOrder::Reader from) {
  FetchOrder order{.source = copy_of(from.getSource()),
                   .mode = copy_of(from.getMode()),
                   .limits = read_limits(from.getLimits())};
  order.reach = read_reach(from.getReach());
  order.insecure = from.getInsecure();
  for (const auto header : from.getHeaders())
    order.headers.emplace_back(copy_of(header.getName()), copy_of(header.getValue()));
  const auto confinement = from.getConfinement();
  const auto filter = confinement.getCallFilter();
  order.confinement
      = {.files = confinement.getFiles(),
         .uid = confinement.getUid(),
         .gid = confinement.getGid(),
         .call_filter = {reinterpret_cast<const char*>(filter.begin()), filter.size()}};
  return order;
}

Result<FetchReport> report_of(wire::FetchReport::Reader from) {
  switch (from.which()) {
    case wire::FetchReport::WARNING:
      return FetchReport{FetchWarning{copy_of(from.getWarning())}};
    case wire::FetchReport::PROGRESS: {
      const auto progress = from.getProgress();
      return FetchReport{FetchProgress{progress.getReceived(), progress.getExpected()}};
    }
    case wire::FetchReport::FAILED:
      return FetchReport{FetchFailed{copy_of(from.getFailed())}};
    case wire::FetchReport::DONE: {
      const auto done = from.getDone();
      return FetchReport{FetchDone{done.getIsFile(), done.getFiles(), done.getBytes()}};
    }
  }
  return Error{Errc::corrupt, "a report that this release does not know"};
}

/// Calls `read` with the root of the message that `bytes` are.
template <class Root, class Read>
auto read_message(std::string_view bytes, Read read) -> decltype(read(typename Root::Reader{})) {
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0)
    return Error{Errc::corrupt, "a message of a length that none has"};
  std::vector<capnp::word> words(bytes.size() / sizeof(capnp::word));
  std::memcpy(words.data(), bytes.data(), bytes.size());
  try {
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 4 * words.size() + 1024;
    options.nestingLimit = 8;
    capnp::FlatArrayMessageReader reader{kj::arrayPtr(words.data(), words.size()), options};
    return read(reader.getRoot<Root>());
  } catch (const kj::Exception& broken) {
    return Error{Errc::corrupt,
                 std::string{"a malformed message: "} + broken.getDescription().cStr()};
  }
}

}  // namespace

std::chrono::nanoseconds FetchLimits::deadline() const {
  std::chrono::nanoseconds longest = std::chrono::minutes{30};
  for (const auto timeout : {http_read_timeout, gcs_timeout, git_timeout, hg_timeout, s3_timeout})
    longest = std::max(longest, timeout);
  return longest + std::chrono::minutes{1};
}

std::string write_order(const FetchOrder& order) {
  capnp::MallocMessageBuilder message{512};
  auto root = message.initRoot<wire::FetchOrder>();
  root.setSource(text_of(order.source));
  root.setMode(text_of(order.mode));
  auto headers = root.initHeaders(static_cast<unsigned>(order.headers.size()));
  for (unsigned i = 0; i < headers.size(); ++i) {
    headers[i].setName(text_of(order.headers[i].first));
    headers[i].setValue(text_of(order.headers[i].second));
  }
  write_limits(order.limits, root.initLimits());
  write_reach(order.reach, root.initReach());
  root.setInsecure(order.insecure);
  auto confinement = root.initConfinement();
  confinement.setFiles(order.confinement.files);
  confinement.setUid(order.confinement.uid);
  confinement.setGid(order.confinement.gid);
  const auto& filter = order.confinement.call_filter;
  confinement.setCallFilter(
      kj::arrayPtr(reinterpret_cast<const kj::byte*>(filter.data()), filter.size()));
  return flat(message);
}

Result<FetchOrder> read_order(std::string_view bytes) {
  return read_message<wire::FetchOrder>(
      bytes, [](wire::FetchOrder::Reader root) -> Result<FetchOrder> { return order_of(root); });
}

std::string write_report(const FetchReport& report) {
  capnp::MallocMessageBuilder message{64};
  auto root = message.initRoot<wire::FetchReport>();
  const auto cut = [](const std::string& text) { return text.substr(0, max_report_text); };
  if (const auto* const warning = std::get_if<FetchWarning>(&report)) {
    root.setWarning(text_of(cut(warning->text)));
  } else if (const auto* const failed = std::get_if<FetchFailed>(&report)) {
    root.setFailed(text_of(cut(failed->text)));
  } else if (const auto* const progress = std::get_if<FetchProgress>(&report)) {
    auto to = root.initProgress();
    to.setReceived(progress->received);
    to.setExpected(progress->expected);
  } else {
    const auto& done = std::get<FetchDone>(report);
    auto to = root.initDone();
    to.setIsFile(done.is_file);
    to.setFiles(done.files);
    to.setBytes(done.bytes);
  }
  return flat(message);
}

Result<FetchReport> read_report(std::string_view bytes) {
  return read_message<wire::FetchReport>(bytes, report_of);
}

}  // namespace nomad::artifact
