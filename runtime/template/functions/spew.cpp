#include "runtime/template/functions/spew.hpp"

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/template/functions/shared.hpp"
#include "runtime/template/value/format.hpp"

namespace nomad::templates {

namespace {

constexpr std::string_view address = "(0xc000000000)";

bool is_of_any(const Type* type) {
  return type == nullptr || type->kind == Kind::any;
}

/// What both ways to write have in common: where they stop.
class Writer {
public:
  explicit Writer(std::size_t limit) : limit_{limit} {}

  bool is_full() const { return out_.size() > limit_; }

  Result<std::string> take() {
    if (is_full() || is_too_deep_) return too_long();
    return std::move(out_);
  }

protected:
  /// Whether there is a level more.
  bool enter(int depth) {
    is_too_deep_ = is_too_deep_ || depth > max_depth;
    return !is_too_deep_ && !is_full();
  }

  /// A boolean or number, as %v.
  void plain(const Value& value) { out_ += print({&value, 1}, limit_).value_or(""); }

  std::size_t limit_;
  std::string out_;
  bool is_too_deep_ = false;
};

/// spew.Sdump.
class Dump : public Writer {
public:
  using Writer::Writer;

  void line(const Value& value) {
    show(value, 0);
    out_ += '\n';
  }

private:
  void indent(int depth) { out_.append(static_cast<std::size_t>(depth), ' '); }

  /// At the position where it begins: the line is indented already.
  void show(const Value& value, int depth) {
    if (!enter(depth)) return;
    if (value.is_invalid()) {
      out_ += "(interface {}) <nil>";
      return;
    }
    const Type& type = *value.type();
    out_ += '(' + std::string{type.name} + ')';
    if (type.is_pointer) {
      if (!value.is_nil()) out_ += address;
      out_ += '(';
      if (value.is_nil())
        out_ += "<nil>";
      else
        content(value, depth);
      out_ += ')';
      return;
    }
    out_ += ' ';
    const bool has_length
        = value.kind() == Kind::text || value.kind() == Kind::list || value.kind() == Kind::map;
    if (const auto size = has_length ? value.size() : 0; size > 0)
      out_ += value.kind() == Kind::list ? fmt::format("(len={} cap={}) ", size, size)
                                         : fmt::format("(len={}) ", size);
    content(value, depth);
  }

  void content(const Value& value, int depth) {
    if (value.type()->show != nullptr) {
      out_ += value.type()->show(value);
      return;
    }
    switch (value.kind()) {
      case Kind::text:
        out_ += shown_quoted_whole(value);
        return;
      case Kind::list:
        if (value.is_nil()) break;
        return each(value.items(), depth);
      case Kind::map:
        if (value.is_nil()) break;
        return entries(value, depth);
      case Kind::structure:
        return fields(value, depth);
      case Kind::function:
        out_ += "0xc000000000";
        return;
      default:
        return plain(value);
    }
    out_ += "<nil>";
  }

  std::string shown_quoted_whole(const Value& value) {
    return print_format("%q", {&value, 1}, limit_).value_or("");
  }

  /// What stands between two parts, or behind the last one.
  void separate(bool is_last) { out_ += is_last ? "\n" : ",\n"; }

  void each(const std::vector<Value>& items, int depth) {
    out_ += "{\n";
    for (std::size_t i = 0; i < items.size() && !is_full(); ++i) {
      indent(depth + 1);
      show(items[i], depth + 1);
      separate(i + 1 == items.size());
    }
    indent(depth);
    out_ += '}';
  }

  void entries(const Value& value, int depth) {
    out_ += "{\n";
    std::size_t left = value.entries().size();
    for (const auto& [key, content] : value.entries()) {
      if (is_full()) break;
      indent(depth + 1);
      show(key, depth + 1);
      out_ += ": ";
      show(content, depth + 1);
      separate(--left == 0);
    }
    indent(depth);
    out_ += '}';
  }

  void fields(const Value& value, int depth) {
    out_ += "{\n";
    const auto& contents = value.fields();
    for (std::size_t i = 0; i < contents.size() && !is_full(); ++i) {
      indent(depth + 1);
      if (i < value.type()->fields.size()) out_ += std::string{value.type()->fields[i].name} + ": ";
      show(contents[i], depth + 1);
      separate(i + 1 == contents.size());
    }
    indent(depth);
    out_ += '}';
  }
};

struct SpewFlags {
  bool types = false;      ///< "#"
  bool addresses = false;  ///< "+"
};

/// A value as spew's %v.
class Inline : public Writer {
public:
  Inline(SpewFlags flags, std::size_t limit) : Writer{limit}, flags_{flags} {}

  /// `says_type`: unless who holds the value has said it.
  void show(const Value& value, bool says_type, int depth) {
    if (!enter(depth)) return;
    const bool types = flags_.types && says_type;
    if (value.is_invalid()) {
      out_ += types ? "(interface {})<nil>" : "<nil>";
      return;
    }
    const Type& type = *value.type();
    if (type.is_pointer && value.is_nil() && !types) {
      out_ += "<nil>";
      return;
    }
    if (types)
      out_ += '(' + std::string{type.name} + ')';
    else if (type.is_pointer)
      out_ += "<*>";
    if (type.is_pointer && flags_.addresses && !value.is_nil()) out_ += address;
    if (value.is_nil())
      out_ += "<nil>";
    else if (type.show != nullptr)
      out_ += type.show(value);
    else
      content(value, depth);
  }

private:
  void content(const Value& value, int depth) {
    const Type& type = *value.type();
    std::string_view space;
    switch (value.kind()) {
      case Kind::text:
        out_ += value.as_text();
        return;
      case Kind::list:
        out_ += '[';
        for (const Value& item : value.items()) {
          out_ += std::exchange(space, " ");
          show(item, is_of_any(type.element), depth + 1);
        }
        out_ += ']';
        return;
      case Kind::map:
        out_ += "map[";
        for (const auto& [key, content] : value.entries()) {
          out_ += std::exchange(space, " ");
          show(key, is_of_any(type.key), depth + 1);
          out_ += ':';
          show(content, is_of_any(type.element), depth + 1);
        }
        out_ += ']';
        return;
      case Kind::structure:
        out_ += '{';
        for (std::size_t i = 0; i < value.fields().size(); ++i) {
          out_ += std::exchange(space, " ");
          if ((flags_.types || flags_.addresses) && i < type.fields.size())
            out_ += std::string{type.fields[i].name} + ':';
          show(value.fields()[i], true, depth + 1);
        }
        out_ += '}';
        return;
      default:
        return plain(value);
    }
  }

  SpewFlags flags_;
};

}  // namespace

Result<std::string> spewed(std::span<const Value> values, std::size_t limit) {
  Dump out{limit};
  for (const Value& value : values)
    out.line(value);
  return out.take();
}

/// Each %v takes its argument as a text; the rest is Go's. A format with widths or places among its
/// arguments is Go's as a whole.
Result<std::string> spewed_format(std::string_view format,
                                  std::span<const Value> arguments,
                                  std::size_t limit) {
  std::string rest;
  std::vector<Value> values{arguments.begin(), arguments.end()};
  std::size_t next = 0;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const std::size_t begin = at;
    if (format[at] == '%') {
      at = format.find_first_not_of("+-# 0123456789.", at + 1);
      if (at == std::string_view::npos || format[at] == '*' || format[at] == '[')
        return print_format(format, arguments, limit);
      const std::string_view verb = format.substr(begin, at - begin + 1);
      if (verb.back() == 'v' && next < values.size()) {
        const auto has = [verb](char flag) { return verb.find(flag) != std::string_view::npos; };
        Inline text{{.types = has('#'), .addresses = has('+')}, limit};
        text.show(values[next], true, 0);
        values[next++] = Value::text(NOMAD_TRY(text.take()));
        rest += "%s";
        continue;
      }
      if (verb.back() != '%') ++next;
    }
    rest += format.substr(begin, at - begin + 1);
  }
  return print_format(rest, values, limit);
}

}  // namespace nomad::templates
