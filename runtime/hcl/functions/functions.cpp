// The function table, and the functions that look at files.
#include "runtime/hcl/functions/functions.hpp"

#include "runtime/base/base64.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/hcl/functions/function_family.hpp"
#include "runtime/text/strings.hpp"

namespace nomad::hcl {

namespace {

using Args = std::span<const Value>;

constexpr const char* disabled = "filesystem function disabled";

FunctionResult read_file(const FileAccess& files, std::string_view path, bool base64) {
  const std::string bytes = NOMAD_TRY(files.read(path));
  if (base64) return text(encode_base64(bytes));
  if (!is_valid_utf8(bytes))
    return fail("contents of " + std::string{path}
                + " are not valid UTF-8; use the filebase64 function to obtain the Base64 encoded contents or the "
                  "other file functions (e.g. filemd5, filesha256) to obtain file hashing results instead");
  return text(bytes);
}

FunctionResult file_exists(const FileAccess& files, std::string_view path) {
  return Value::boolean(NOMAD_TRY(files.exists(path)));
}

FunctionResult file_set(const FileAccess& files, std::string_view path, std::string_view pattern) {
  Value::Elements out;
  for (const std::string& name : NOMAD_TRY(files.glob(path, pattern)))
    out.push_back(Value::string(name));
  return Value::set(Type::string(), std::move(out));
}

template <class Call>
Function file_function(std::string_view name, const FileAccess* files, Call call) {
  // Disabled, it fails whatever it is given.
  Function out{name, {{"path", Type::string(), false, files == nullptr}}};
  if (files == nullptr)
    out.call = [](Args) { return fail(disabled); };
  else
    out.call = [files, call](Args args) -> FunctionResult { return call(*files, args); };
  return out;
}

}  // namespace

void add_file_functions(std::vector<Function>& out, const FunctionOptions& options) {
  const FileAccess* files = options.files;
  out.push_back(file_function("file", files, [](const FileAccess& f, Args args) {
    return read_file(f, args[0].as_string(), false);
  }));
  out.push_back(file_function("filebase64", files, [](const FileAccess& f, Args args) {
    return read_file(f, args[0].as_string(), true);
  }));
  out.push_back(file_function("fileexists", files, [](const FileAccess& f, Args args) {
    return file_exists(f, args[0].as_string());
  }));
  Function fileset = file_function("fileset", files, [](const FileAccess& f, Args args) {
    return file_set(f, args[0].as_string(), args[1].as_string());
  });
  fileset.parameters.push_back({"pattern", Type::string(), false, files == nullptr});
  out.push_back(std::move(fileset));
  out.push_back(
      file_function("abspath", files, [](const FileAccess& f, Args args) -> FunctionResult {
        return text(NOMAD_TRY(f.absolute(args[0].as_string())));
      }));
  out.push_back(
      file_function("pathexpand", files, [](const FileAccess& f, Args args) -> FunctionResult {
        return text(NOMAD_TRY(f.expand_home(args[0].as_string())));
      }));
  out.push_back(file_function("basename", files, [](const FileAccess&, Args args) {
    return text(base_name(args[0].as_string()));
  }));
  out.push_back(file_function("dirname", files, [](const FileAccess&, Args args) {
    return text(directory_name(args[0].as_string()));
  }));
}

FunctionTable job_functions(FunctionOptions options) {
  std::vector<Function> out;
  add_string_functions(out);
  add_format_functions(out);
  add_number_functions(out);
  add_collection_functions(out);
  add_sequence_functions(out);
  add_mapping_functions(out);
  add_encoding_functions(out);
  add_json_functions(out);
  add_yaml_functions(out);
  add_date_functions(out);
  add_crypto_functions(out, options);
  add_network_functions(out);
  add_file_functions(out, options);
  out.push_back({"try", {}, Parameter{"expressions"}, {}, Function::Form::try_});
  out.push_back({"can", {{"expression"}}, std::nullopt, {}, Function::Form::can});
  out.push_back({"convert", {{"value"}, {"type"}}, std::nullopt, {}, Function::Form::convert});
  return FunctionTable{std::move(out)};
}

}  // namespace nomad::hcl
