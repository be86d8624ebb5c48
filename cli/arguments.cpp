#include "cli/arguments.hpp"

#include <algorithm>
#include <iostream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/programs.hpp"
#include "runtime/base/similar_name.hpp"
#include "runtime/base/text.hpp"
#include "runtime/text/number_text.hpp"
#include "runtime/text/shell_word.hpp"

namespace nomad::cli {
namespace {

std::string dashed(std::string_view name) {
  return "--" + std::string{name};
}

/// A flag's value as CLI11 reads it: that one throws what is no ParseError for a truth value that
/// it does not know.
Result<std::string> checked_value(std::string_view name,
                                  std::string_view type,
                                  std::string_view value) {
  if (type.empty()) {
    const auto truth = parse_bool(value);
    if (truth) return *truth ? "true" : "false";
    return mistake(fmt::format("invalid boolean value {} for -{}: expected true or false",
                               quote(value), name));
  }
  if (type != "INT") return std::string{value};
  const auto number = parse_integer(value, 0);
  if (number.fault)
    return mistake(fmt::format("invalid value {} for flag -{}: {}", quote(value), name,
                               number.fault == NumberFault::range ? "the number is too large"
                                                                  : "expected a whole number"));
  return std::to_string(number.value);
}

}  // namespace

WordCount one_word(std::string_view name) {
  return {1, 1, fmt::format("This command takes one argument: {}", name)};
}

WordCount optional_word(std::string_view name) {
  return {0, 1, fmt::format("This command takes either no arguments or one: {}", name)};
}

Arguments::Arguments(std::string_view usage, std::string_view about)
    : app_{std::make_unique<CLI::App>()}, usage_{usage}, about_{about} {
  app_->set_help_flag();
}

Arguments::~Arguments() = default;

void Arguments::flag(std::string_view name, bool& target, std::string_view help) {
  app_->add_flag(dashed(name), target, std::string{help});
}

void Arguments::flag(std::string_view name, std::optional<bool>& target, std::string_view help) {
  // Bound directly, CLI11 would take it for a counter and set it to zero at once.
  app_->add_flag_function(
          dashed(name), [&target](std::int64_t times) { target = times > 0; }, std::string{help})
      ->take_last();
}

void Arguments::option(std::string_view name, std::string& target, std::string_view help) {
  app_->add_option(dashed(name), target, std::string{help})->take_last();
}

void Arguments::option(std::string_view name,
                       std::optional<std::string>& target,
                       std::string_view help) {
  app_->add_option(dashed(name), target, std::string{help})->take_last();
}

void Arguments::option(std::string_view name, std::int64_t& target, std::string_view help) {
  app_->add_option(dashed(name), target, std::string{help})->take_last();
}

void Arguments::option(std::string_view name,
                       std::optional<std::int64_t>& target,
                       std::string_view help) {
  app_->add_option(dashed(name), target, std::string{help})->take_last();
}

void Arguments::option(std::string_view name,
                       std::vector<std::string>& target,
                       std::string_view help) {
  app_->add_option(dashed(name), target, std::string{help})
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->expected(1)
      ->allow_extra_args(false);
}

std::string Arguments::suggestion(const std::string& name) const {
  std::vector<std::string_view> names;
  for (const auto* option : app_->get_options())
    names.push_back(option->get_lnames().front());
  const auto near = closest_word(name, names);
  return near.empty() ? std::string{} : fmt::format("; did you mean -{}?", near);
}

std::optional<int> Arguments::parse(const std::vector<std::string>& arguments) {
  if (arguments.size() == 1 && arguments[0] == show_shape) {
    std::cout << shape_text(shape()) << '\n';
    return 0;
  }
  std::vector<std::string> flags;
  std::size_t next = 0;
  for (; next < arguments.size(); ++next) {
    std::string_view word = arguments[next];
    if (word.size() < 2 || word[0] != '-') {
      if (!mixes_words_) break;
      positional_.emplace_back(word);
      continue;
    }
    if (word == "--") {
      ++next;
      break;
    }
    word.remove_prefix(word[1] == '-' ? 2 : 1);
    const auto equals = word.find('=');
    const std::string name{word.substr(0, equals)};
    if (name == "h" || name == "help") {
      std::cout << help();
      return 0;
    }
    auto* known = app_->get_option_no_throw(dashed(name));
    if (known == nullptr) {
      return misuse(fmt::format("flag provided but not defined: -{}{}", name, suggestion(name)));
    }
    std::string flag = dashed(word);
    const bool takes_value = known->get_expected_min() > 0;
    if (takes_value && equals == std::string_view::npos) {
      if (++next == arguments.size()) {
        return misuse(fmt::format("flag needs an argument: -{}", name));
      }
      flag += '=' + arguments[next];
    }
    given_.push_back(flag.substr(1));
    const auto sign = flag.find('=');
    if (sign == std::string::npos) {
      flags.push_back(std::move(flag));
      continue;
    }
    const auto type = takes_value ? known->get_type_name() : std::string{};
    auto value = checked_value(name, type, std::string_view{flag}.substr(sign + 1));
    if (!value) {
      return misuse(value.error().what);
    }
    // Given as a word, an empty text is one that is missing to CLI11.
    if (type.starts_with("TEXT"))
      known->add_result(std::move(*value));
    else
      flags.push_back(dashed(name) + '=' + *value);
  }
  positional_.insert(positional_.end(), arguments.begin() + static_cast<std::ptrdiff_t>(next),
                     arguments.end());
  std::reverse(flags.begin(), flags.end());  // as CLI11 takes them
  try {
    app_->parse(std::move(flags));
  } catch (const CLI::ParseError& failure) {
    return misuse(failure.what());
  }
  for (const auto& step : steps_)
    if (const auto done = step(); !done) return fail(done.error());
  return std::nullopt;
}

std::optional<int> Arguments::parse(const std::vector<std::string>& arguments,
                                    const WordCount& words) {
  if (auto code = parse(arguments)) return code;
  const auto count = positional_.size();
  if (count < words.least || count > words.most) return misuse(words.otherwise);
  return std::nullopt;
}

bool Arguments::is_given(std::string_view name) const {
  return std::ranges::any_of(
      given_, [name](std::string_view flag) { return flag.substr(1, flag.find('=') - 1) == name; });
}

int Arguments::misuse(std::string_view problem) const {
  std::cerr << problem << "\nFor additional help try '" << program_name() << ' ' << shape().name()
            << " -help'\n";
  return 1;
}

void Arguments::hint_next_page(const std::string& page_token) const {
  if (page_token.empty()) return;
  std::string again = fmt::format("{} {}", program_name(), shape().name());
  for (const std::string& flag : given_) {
    const auto sign = flag.find('=');
    const std::string name{std::string_view{flag}.substr(1, sign - 1)};
    if (name.ends_with("token")) continue;  // a secret, or the page that was shown
    const auto* const known = app_->get_option_no_throw(dashed(name));
    const bool takes_value = known != nullptr && known->get_expected_min() > 0;
    again += takes_value ? fmt::format(" -{} {}", name, shell_word(flag.substr(sign + 1)))
                         : ' ' + shell_word(flag);
  }
  again += " -page-token " + shell_word(page_token);
  for (const std::string& word : positional_)
    again += ' ' + shell_word(word);
  std::cout << fmt::format("\nResults have been paginated. To get the next page run:\n\n{}\n",
                           again);
}

CommandShape Arguments::shape() const {
  CommandShape shape{.usage = usage_, .about = about_, .flags = {}};
  for (const auto* option : app_->get_options())
    shape.flags.push_back(
        {option->get_lnames().front(), option->get_description(), option->get_expected_min() > 0});
  return shape;
}

std::string Arguments::help() const {
  std::string text = fmt::format("Usage: {} {}\n\n  {}\n", program_name(), usage_, about_);
  const auto flags = shape().flags;
  if (!flags.empty()) text += "\nOptions:\n";
  for (const FlagShape& flag : flags)
    text += fmt::format("\n  -{}{}\n    {}\n", flag.name, flag.takes_value ? "=<value>" : "",
                        flag.help);
  return text;
}

}  // namespace nomad::cli
