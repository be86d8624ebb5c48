#include "actors/api/forward/api_wire.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/text.hpp"
#include "runtime/net/http/body_file.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/object/object.hpp"

namespace nomad::api {
namespace {

constexpr std::size_t length_bytes = 4;
constexpr std::uint32_t largest_head = 64 * 1024;

/// What is between the client and the agent that he asked.
bool is_of_connection(std::string_view name) {
  constexpr std::array<std::string_view, 9> names{
      "Accept-Encoding", "Connection", "Content-Length",    "Expect", "Host",
      "Keep-Alive",      "TE",         "Transfer-Encoding", "Upgrade"};
  return std::any_of(names.begin(), names.end(),
                     [name](std::string_view each) { return net::same_header(each, name); });
}

/// `target` with `region` as its only parameter of that name.
std::string target_in(std::string_view target, std::string_view region) {
  const auto question = std::min(target.find('?'), target.size());
  auto out = std::string{target.substr(0, question)} + "?region=" + query_encode(region);
  auto rest = target.substr(std::min(question + 1, target.size()));
  while (!rest.empty()) {
    const auto pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
    if (!pair.empty() && net::percent_decode(pair.substr(0, pair.find('=')), true) != "region")
      out.append("&").append(pair);
  }
  return out;
}

template <class Message>
Bytes shared_bytes(const Object<Message>& object) {
  auto owner = std::make_shared<const Object<Message>>(object);
  const auto view = owner->bytes();
  return {std::move(owner), view};
}

}  // namespace

Bytes write_request(const net::Request& request, std::string_view region) {
  Draft<schema::rpc::ApiRequest> draft;
  draft->setMethod(text(request.method));
  const bool names_it = region.empty() || request.parameter_or_empty("region") == region;
  draft->setTarget(text(names_it ? request.target : target_in(request.target, region)));
  std::vector<std::size_t> kept;
  const bool upgrades = !request.upgrade().empty();
  const auto is_kept = [upgrades](std::string_view name) {
    return !is_of_connection(name) || (upgrades && net::same_header(name, "Upgrade"));
  };
  for (std::size_t i = 0; i < request.header_count(); ++i)
    if (is_kept(request.header_at(i).first)) kept.push_back(i);
  auto headers = draft->initHeaders(static_cast<unsigned>(kept.size()));
  for (unsigned i = 0; i < kept.size(); ++i) {
    const auto [name, value] = request.header_at(kept[i]);
    headers[i].setKey(text(std::string{name}));  // as Cap'n Proto wants it: with a zero behind it
    headers[i].setValue(text(std::string{value}));
  }
  if (request.body_file) draft->setBodyLength(request.body_file->size());
  draft->setBody(
      {reinterpret_cast<const unsigned char*>(request.body.data()), request.body.size()});
  return shared_bytes(draft.freeze());
}

Result<> read_request(schema::rpc::ApiRequest::Reader from, net::Request& request) {
  request.method = copy(from.getMethod());
  request.target = copy(from.getTarget());
  for (const auto header : from.getHeaders()) {
    const bool upgrades = net::same_header(view(header.getKey()), "Upgrade");
    if (upgrades) request.add_header("Connection", "Upgrade");
    if (upgrades || !is_of_connection(view(header.getKey())))
      request.add_header(view(header.getKey()), view(header.getValue()));
  }
  const auto body = from.getBody();
  request.body.assign(reinterpret_cast<const char*>(body.begin()), body.size());
  if (request.method.empty() || !net::split_target(request))
    return Error{Errc::invalid_argument, "malformed request"};
  return {};
}

Bytes write_response_head(const net::Response& response, std::optional<std::uint64_t> length) {
  Draft<schema::rpc::ApiResponseHead> draft;
  draft->setStatus(static_cast<std::uint16_t>(response.status));
  draft->setContentType(text(response.content_type));
  draft->setWhole(length.has_value());
  draft->setLength(length.value_or(0));
  auto headers = draft->initHeaders(static_cast<unsigned>(response.headers.size()));
  for (unsigned i = 0; i < response.headers.size(); ++i) {
    headers[i].setKey(text(response.headers[i].name));
    headers[i].setValue(text(response.headers[i].value));
  }
  const auto head = draft.freeze();
  const auto bytes = head.bytes();
  std::string out;
  for (std::size_t i = 0; i < length_bytes; ++i)
    out += static_cast<char>(bytes.size() >> (8 * i));
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return Bytes::copy(out);
}

Result<std::optional<ResponseHeadReader::Head>> ResponseHeadReader::feed(std::string_view& bytes) {
  const auto take = [&](std::size_t wanted) {
    const auto count = std::min(bytes.size(), wanted - std::min(wanted, collected_.size()));
    collected_.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    return collected_.size() >= wanted;
  };
  if (!take(length_bytes)) return std::optional<Head>{};
  std::uint32_t size = 0;
  for (std::size_t i = 0; i < length_bytes; ++i)
    size |= static_cast<std::uint32_t>(static_cast<unsigned char>(collected_[i])) << (8 * i);
  if (size > largest_head) return Error{Errc::corrupt, "the head of the answer is too large"};
  if (!take(length_bytes + size)) return std::optional<Head>{};
  // Aligned, as flat messages must be.
  const auto aligned = Bytes::copy(std::string_view{collected_}.substr(length_bytes));
  const auto head = NOMAD_TRY(Object<schema::rpc::ApiResponseHead>::from_bytes(aligned.view()));
  const auto fields = *head;
  Head out;
  out.response.status = fields.getStatus();
  if (out.response.status < 100 || out.response.status > 999)
    return Error{Errc::corrupt, "the answer has no status"};
  out.response.content_type = copy(fields.getContentType());
  for (const auto header : fields.getHeaders())
    out.response.headers.push_back({copy(header.getKey()), copy(header.getValue())});
  if (fields.getWhole()) out.length = fields.getLength();
  return std::optional<Head>{std::move(out)};
}

}  // namespace nomad::api
