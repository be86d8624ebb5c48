#include "runtime/net/http/http_message.hpp"

#include <algorithm>
#include <array>

#include "runtime/base/text.hpp"

namespace nomad::net {
namespace {

/// What a file of a known kind begins with.
struct Signature {
  std::string_view begin;
  std::string_view type;
};

constexpr std::array signatures = std::to_array<Signature>({
    {"%PDF-", "application/pdf"},
    {"%!PS-Adobe-", "application/postscript"},
    {"\xFE\xFF", "text/plain; charset=utf-16be"},
    {"\xFF\xFE", "text/plain; charset=utf-16le"},
    {"\xEF\xBB\xBF", "text/plain; charset=utf-8"},
    {"\x89PNG\x0D\x0A\x1A\x0A", "image/png"},
    {"\xFF\xD8\xFF", "image/jpeg"},
    {"GIF87a", "image/gif"},
    {"GIF89a", "image/gif"},
    {"BM", "image/bmp"},
    {"OggS", "application/ogg"},
    {"ID3", "audio/mpeg"},
    {"\x1A\x45\xDF\xA3", "video/webm"},
    {"wOFF", "font/woff"},
    {"wOF2", "font/woff2"},
    {"\x1F\x8B\x08", "application/x-gzip"},
    {"PK\x03\x04", "application/zip"},
    {"Rar!\x1A\x07", "application/x-rar-compressed"},
});

constexpr std::array html_tags = std::to_array<std::string_view>(
    {"<!DOCTYPE HTML", "<HTML", "<HEAD", "<SCRIPT", "<IFRAME", "<H1", "<DIV", "<FONT", "<TABLE",
     "<A", "<STYLE", "<TITLE", "<B", "<BODY", "<BR", "<P", "<!--"});

bool begins_with_tag(std::string_view body, std::string_view tag) {
  if (body.size() <= tag.size()) return false;
  for (std::size_t i = 0; i < tag.size(); ++i)
    if (to_lower(body[i]) != to_lower(tag[i])) return false;
  return body[tag.size()] == ' ' || body[tag.size()] == '>';
}

bool is_binary_byte(unsigned char byte) {
  return byte <= 0x08 || byte == 0x0B || (byte >= 0x0E && byte <= 0x1A)
         || (byte >= 0x1C && byte <= 0x1F);
}

}  // namespace

bool same_header(std::string_view left, std::string_view right) {
  return left.size() == right.size()
         && std::equal(left.begin(), left.end(), right.begin(),
                       [](char a, char b) { return to_lower(a) == to_lower(b); });
}

const std::string* Request::parameter(std::string_view name) const {
  for (const auto& [key, value] : query)
    if (key == name) return &value;
  return nullptr;
}

std::string_view Request::parameter_or_empty(std::string_view name) const {
  const auto* value = parameter(name);
  return value != nullptr ? std::string_view{*value} : std::string_view{};
}

std::string_view Request::header(std::string_view name) const {
  for (const auto& field : fields_) {
    if (field.name_size != name.size()) continue;
    const std::string_view text{text_};
    if (same_header(text.substr(field.begin, field.name_size), name))
      return text.substr(field.begin + field.name_size, field.value_size);
  }
  return {};
}

bool Request::accepts_gzip() const {
  const auto accepted = header("accept-encoding");
  const auto at = accepted.find("gzip");
  if (at == std::string_view::npos) return false;
  const auto rest = accepted.substr(at + 4);
  return !rest.starts_with(";q=0") || rest.starts_with(";q=0.");
}

bool Request::header_has(std::string_view name, std::string_view token) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const auto [field, value] = header_at(i);
    if (!same_header(field, name)) continue;
    for (auto rest = value; !rest.empty();) {
      const auto comma = std::min(rest.find(','), rest.size());
      auto item = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      while (!item.empty() && (item.front() == ' ' || item.front() == '\t'))
        item.remove_prefix(1);
      while (!item.empty() && (item.back() == ' ' || item.back() == '\t'))
        item.remove_suffix(1);
      if (same_header(item, token)) return true;
    }
  }
  return false;
}

std::string_view Request::upgrade() const {
  return header_has("Connection", "upgrade") ? header("Upgrade") : std::string_view{};
}

void Request::add_header(std::string_view name, std::string_view value) {
  fields_.push_back({static_cast<std::uint32_t>(text_.size()),
                     static_cast<std::uint32_t>(name.size()),
                     static_cast<std::uint32_t>(value.size())});
  text_.append(name);
  text_.append(value);
}

std::pair<std::string_view, std::string_view> Request::header_at(std::size_t place) const {
  const auto& field = fields_[place];
  const std::string_view text{text_};
  return {text.substr(field.begin, field.name_size),
          text.substr(field.begin + field.name_size, field.value_size)};
}

void Request::clear() {
  static constexpr std::size_t kept_body = 64 * 1024;
  method.clear();
  target.clear();
  path.clear();
  query.clear();
  body.clear();
  if (body.capacity() > kept_body) body.shrink_to_fit();
  body_file.reset();
  text_.clear();
  fields_.clear();
  is_http11 = true;
  caller.reset();
  hops = 0;
  is_for_this_node = false;
  target_node.clear();
}

bool split_target(Request& request) {
  std::string_view target = request.target;
  if (!target.starts_with('/')) {  // "http://host/path", as proxies send it
    const auto scheme = target.find("://");
    if (scheme == std::string_view::npos) return false;
    const auto slash = target.find('/', scheme + 3);
    target = slash == std::string_view::npos ? std::string_view{"/"} : target.substr(slash);
  }
  const auto question = std::min(target.find('?'), target.size());
  const auto path = target.substr(0, question);
  if (path.find('%') == std::string_view::npos) {
    request.path.assign(path);
  } else {
    auto decoded = percent_decode(path, false);
    if (!decoded) return false;
    request.path = std::move(*decoded);
  }
  if (question < target.size()) parse_query(target.substr(question + 1), request.query);
  return true;
}

std::string_view reason_phrase(unsigned status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 301:
      return "Moved Permanently";
    case 307:
      return "Temporary Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Request Entity Too Large";
    case 415:
      return "Unsupported Media Type";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

std::string_view sniff_content_type(std::string_view body) {
  static constexpr std::size_t sniffed = 512;
  body = body.substr(0, sniffed);
  const auto first = body.find_first_not_of("\t\n\x0C\r ");
  const auto text = first == std::string_view::npos ? std::string_view{} : body.substr(first);
  for (const auto tag : html_tags)
    if (begins_with_tag(text, tag)) return "text/html; charset=utf-8";
  if (text.starts_with("<?xml")) return "text/xml; charset=utf-8";
  for (const auto& signature : signatures)
    if (body.starts_with(signature.begin)) return signature.type;
  const auto is_binary = [](char c) { return is_binary_byte(static_cast<unsigned char>(c)); };
  return std::any_of(body.begin(), body.end(), is_binary) ? "application/octet-stream"
                                                          : "text/plain; charset=utf-8";
}

std::string pretty_json(std::string_view compact) {
  std::string out;
  out.reserve(compact.size() * 2);
  std::size_t depth = 0;
  bool in_string = false;
  const auto break_line = [&] {
    out += '\n';
    out.append(depth * 4, ' ');
  };
  for (std::size_t i = 0; i < compact.size(); ++i) {
    const char c = compact[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < compact.size())
        out += compact[++i];
      else if (c == '"')
        in_string = false;
      continue;
    }
    switch (c) {
      case '"':
        in_string = true;
        out += c;
        break;
      case '{':
      case '[':
        out += c;
        if (i + 1 < compact.size() && (compact[i + 1] == '}' || compact[i + 1] == ']')) {
          out += compact[++i];
        } else {
          ++depth;
          break_line();
        }
        break;
      case '}':
      case ']':
        if (depth > 0) --depth;
        break_line();
        out += c;
        break;
      case ',':
        out += c;
        break_line();
        break;
      case ':':
        out += ": ";
        break;
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        break;
      default:
        out += c;
    }
  }
  out += '\n';
  return out;
}

}  // namespace nomad::net
