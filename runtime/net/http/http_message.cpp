#include "runtime/net/http/http_message.hpp"

#include <algorithm>

#include <boost/beast/http/status.hpp>

#include "runtime/base/text.hpp"

namespace nomad::net {

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

std::pair<std::string_view, std::string_view> Request::header_at(std::size_t position) const {
  const auto& field = fields_[position];
  const std::string_view text{text_};
  return {text.substr(field.begin, field.name_size),
          text.substr(field.begin + field.name_size, field.value_size)};
}

void Request::clear() {
  static constexpr std::size_t kept_body = 64 * 1024;
  method.clear();
  target.clear();
  path.clear();
  is_path_clean = true;
  query.clear();
  body.clear();
  if (body.capacity() > kept_body) body.shrink_to_fit();
  body_file.reset();
  text_.clear();
  fields_.clear();
  is_http11 = true;
  needs_token = false;
  limits.clear();
  who.reset();
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
  request.is_path_clean = is_clean_path(path);
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
  const auto phrase
      = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  return {phrase.data(), phrase.size()};
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
