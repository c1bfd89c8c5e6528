// FedNova (server and rounds), FedAdam (server) and SM3-II (client) in C++17, one file, the standard library alone.
//
//   g++ -std=c++17 -O2 -o native examples/native.cpp
//   fedspec check cmd:./native                                 # judged over JSON lines
//   fedspec vectors export out --format jsonl
//   ./native out/vectors.jsonl                                 # judges itself by the vectors alone, without fedspec
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// ---- JSON: what the protocol and the vectors need of it -------------------------------------------------------------

struct Json {
  enum Kind { Null, Bool, Number, Text, List, Object } kind = Null;
  double number = 0;
  std::string text;
  std::vector<Json> list;
  std::vector<std::pair<std::string, Json>> fields;  // in the order they came: that of x0 is the order of a model

  const Json* find(const std::string& name) const {
    for (auto& f : fields)
      if (f.first == name) return f.second.kind == Null ? nullptr : &f.second;
    return nullptr;
  }
  const Json& at(const std::string& name) const {
    if (auto* found = find(name)) return *found;
    throw std::runtime_error("no field " + name);
  }
};

class Reader {
 public:
  explicit Reader(const std::string& s) : s_(s) {}
  Json read() {
    Json v = value(0);
    if (next() != '\0') throw std::runtime_error("something behind the JSON value");
    return v;
  }

 private:
  const std::string& s_;
  size_t at_ = 0;

  char next() {
    while (at_ < s_.size() && std::isspace(static_cast<unsigned char>(s_[at_]))) at_++;
    return at_ < s_.size() ? s_[at_] : '\0';
  }
  bool take(char c) { return next() == c ? (at_++, true) : false; }
  void want(char c) {
    if (!take(c)) throw std::runtime_error(std::string("no ") + c + " where one is due in the JSON");
  }
  bool word(const char* w) {
    std::string text(w);
    return s_.compare(at_, text.size(), text) == 0 ? (at_ += text.size(), true) : false;
  }
  std::string text() {
    want('"');
    std::string out;
    while (at_ < s_.size() && s_[at_] != '"') {
      char c = s_[at_++];
      if (c == '\\' && at_ < s_.size()) {
        c = s_[at_++];
        if (c == 'u') {  // only names and words stand here; what is not ASCII becomes a question mark
          at_ += 4;
          c = '?';
        } else if (c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f') {
          c = ' ';
        }
      }
      out += c;
    }
    want('"');
    return out;
  }
  Json value(int depth) {
    if (depth > 100) throw std::runtime_error("JSON nested too deeply");
    Json v;
    char c = next();
    if (c == '{') {
      v.kind = Json::Object;
      want('{');
      if (take('}')) return v;
      do {
        std::string name = text();
        want(':');
        v.fields.emplace_back(name, value(depth + 1));
      } while (take(','));
      want('}');
    } else if (c == '[') {
      v.kind = Json::List;
      want('[');
      if (take(']')) return v;
      do v.list.push_back(value(depth + 1));
      while (take(','));
      want(']');
    } else if (c == '"') {
      v.kind = Json::Text;
      v.text = text();
    } else if (word("true") || word("false")) {
      v.kind = Json::Bool;
    } else if (!word("null")) {
      v.kind = Json::Number;
      const char* start = s_.c_str() + at_;
      char* end = nullptr;
      v.number = std::strtod(start, &end);
      if (end == start) throw std::runtime_error("no JSON value where one is due");
      at_ += end - start;
    }
    return v;
  }
};

using Vec = std::vector<double>;
using Shape = std::vector<size_t>;

std::string written(double x) {
  if (std::isnan(x)) return "\"nan\"";  // JSON has no word for what is not finite
  if (std::isinf(x)) return x > 0 ? "\"inf\"" : "\"-inf\"";
  char out[32];
  std::snprintf(out, sizeof out, "%.17g", x);
  return out;
}

std::string written(const Vec& v) {
  std::string out = "[";
  for (size_t j = 0; j < v.size(); j++) out += (j ? "," : "") + written(v[j]);
  return out + "]";
}

void flatten(const Json& v, Vec& out) {
  if (v.kind == Json::Number) out.push_back(v.number);
  for (auto& part : v.list) flatten(part, out);
}

Vec numbers(const Json& v) {
  Vec out;
  flatten(v, out);
  return out;
}

// ---- the algorithms; a model is one vector of numbers ---------------------------------------------------------------

struct Message {
  Vec delta;
  double weight, a_norm;
};

struct Event {
  std::string type;
  Vec given;                     // a gradient, or the model that a round begins at
  std::vector<Message> messages;
  std::vector<size_t> participants;
  Vec steps;
};

struct Answer {
  std::map<std::string, Vec> models;  // x and what is shown beside it
  std::map<std::string, double> scalars;
};

struct Case {
  std::string algorithm, level, reading;
  std::map<std::string, std::string> options;
  std::map<std::string, double> hyper;
  std::vector<std::string> names;  // of the blocks, in order
  std::vector<Shape> shapes;
  Vec x0;
  std::vector<std::vector<Vec>> H;
  std::vector<Vec> e;
  Vec examples;
};

struct Session {
  virtual ~Session() = default;
  virtual Answer step(const Event&) = 0;
};

Vec shares(const Vec& examples, const std::string& how) {
  double total = 0;
  for (double n : examples) total += n;
  Vec p;
  for (double n : examples) p.push_back(how == "uniform" ? 1.0 / examples.size() : n / total);
  return p;
}

Vec weights_of(const Event& event) {
  Vec out;
  for (auto& m : event.messages) out.push_back(m.weight);
  return out;
}

// x + tau_eff sum_i p_i Delta_i / ||a_i||_1 with tau_eff = sum_i p_i ||a_i||_1
Answer nova(Vec& x, const std::vector<Vec>& deltas, const Vec& p, const Vec& norms) {
  double tau_eff = 0;
  Vec direction(x.size());
  for (size_t i = 0; i < deltas.size(); i++) {
    tau_eff += p[i] * norms[i];
    for (size_t j = 0; j < x.size(); j++) direction[j] += p[i] / norms[i] * deltas[i][j];
  }
  for (size_t j = 0; j < x.size(); j++) x[j] += tau_eff * direction[j];
  return {{{"x", x}}, {{"tau_eff", tau_eff}}};
}

class NovaServer : public Session {
 public:
  explicit NovaServer(const Case& c) : c_(c), x_(c.x0) {}
  Answer step(const Event& event) override {
    std::vector<Vec> deltas;
    Vec norms;
    for (auto& m : event.messages) deltas.push_back(m.delta), norms.push_back(m.a_norm);
    return nova(x_, deltas, shares(weights_of(event), c_.options.at("weights")), norms);
  }

 private:
  Case c_;
  Vec x_;
};

class NovaRounds : public Session {
 public:
  explicit NovaRounds(const Case& c) : c_(c), x_(c.x0) {}
  Answer step(const Event& event) override {
    std::vector<Vec> deltas;
    Vec examples;
    for (size_t k = 0; k < event.participants.size(); k++) {
      size_t i = event.participants[k];
      Vec y = x_;
      for (int t = 0; t < event.steps[k]; t++) {
        Vec g = gradient(i, y);
        for (size_t j = 0; j < y.size(); j++) y[j] -= c_.hyper.at("eta_l") * g[j];
      }
      for (size_t j = 0; j < y.size(); j++) y[j] -= x_[j];
      deltas.push_back(y);
      examples.push_back(c_.examples[i]);
    }
    // Plain SGD: ||a_i||_1 is the number of steps.
    return nova(x_, deltas, shares(examples, c_.options.at("weights")), event.steps);
  }

 private:
  Case c_;
  Vec x_;
  Vec gradient(size_t i, const Vec& y) const {
    Vec g;
    for (size_t j = 0; j < y.size(); j++) {
      double sum = -c_.e[i][j];
      for (size_t l = 0; l < y.size(); l++) sum += c_.H[i][j][l] * y[l];
      g.push_back(sum);
    }
    return g;
  }
};

class AdamServer : public Session {
 public:
  explicit AdamServer(const Case& c) : c_(c), x_(c.x0), m_(c.x0.size()), v_(c.x0.size(), c.hyper.at("v0")) {}
  Answer step(const Event& event) override {
    double beta1 = c_.hyper.at("beta1"), beta2 = c_.hyper.at("beta2");
    Vec p = shares(weights_of(event), c_.options.at("weights")), delta(x_.size());
    for (size_t i = 0; i < p.size(); i++)
      for (size_t j = 0; j < x_.size(); j++) delta[j] += p[i] * event.messages[i].delta[j];
    for (size_t j = 0; j < x_.size(); j++) {
      m_[j] = beta1 * m_[j] + (1 - beta1) * delta[j];
      v_[j] = beta2 * v_[j] + (1 - beta2) * delta[j] * delta[j];
      x_[j] += c_.hyper.at("eta") * m_[j] / (std::sqrt(v_[j]) + c_.hyper.at("tau"));
    }
    return {{{"x", x_}, {"delta", delta}, {"m", m_}, {"v", v_}}, {}};
  }

 private:
  Case c_;
  Vec x_, m_, v_;
};

class Sm3 : public Session {
 public:
  explicit Sm3(const Case& c) : c_(c) {
    // One set for each slice along each axis of each block.
    size_t first = 0;
    for (auto& shape : c.shapes) {
      size_t count = 1, sets = 0;
      for (size_t n : shape) count *= n, sets += n;
      for (size_t j = 0; j < count; j++) {
        std::vector<size_t> mine;
        size_t rest = j, offset = first;
        for (size_t axis = shape.size(); axis-- > 0;) {
          mine.push_back(offset + rest % shape[axis]);
          rest /= shape[axis];
          offset += shape[axis];
        }
        sets_of_.push_back(mine.empty() ? std::vector<size_t>{first} : mine);
      }
      first += std::max<size_t>(sets, 1);
    }
    count_ = first;
    begin(c.x0);
  }
  Answer step(const Event& event) override {
    if (event.type == "begin") return begin(event.given);
    Vec nu(x_.size());
    for (size_t j = 0; j < x_.size(); j++) {
      double least = std::numeric_limits<double>::infinity();
      for (size_t r : sets_of_[j]) least = std::min(least, mu_[r]);
      nu[j] = least + event.given[j] * event.given[j];
    }
    mu_.assign(count_, 0);
    for (size_t j = 0; j < x_.size(); j++) {
      for (size_t r : sets_of_[j]) mu_[r] = std::max(mu_[r], nu[j]);
      x_[j] -= c_.hyper.at("eta_l") * (event.given[j] / (std::sqrt(nu[j]) + c_.hyper.at("eps")));
    }
    return {{{"x", x_}, {"nu", nu}}, {}};
  }

 private:
  Case c_;
  size_t count_ = 0;
  std::vector<std::vector<size_t>> sets_of_;
  Vec x_, mu_;
  Answer begin(const Vec& x) {
    x_ = x;
    mu_.assign(count_, 0);
    return {{{"x", x_}, {"nu", Vec(x_.size())}}, {}};
  }
};

// ---- what is offered ------------------------------------------------------------------------------------------------

struct Offer {
  std::string algorithm, level, reading;
  std::map<std::string, std::string> options;  // those that the reading leaves open
  std::vector<std::string> shown;
  std::function<std::unique_ptr<Session>(const Case&)> start;
};

template <class Kind>
std::unique_ptr<Session> make(const Case& c) {
  return std::make_unique<Kind>(c);
}

const std::vector<Offer> OFFERS = {
    {"fednova", "server", "fednova", {{"weights", "examples"}, {"solver", "sgd"}}, {"tau_eff"}, make<NovaServer>},
    {"fednova", "round", "fednova", {{"weights", "examples"}, {"solver", "sgd"}}, {"tau_eff"}, make<NovaRounds>},
    {"fedadam", "server", "reddi-2021", {{"weights", "uniform"}}, {"delta", "m", "v"}, make<AdamServer>},
    {"fedadam", "server", "reddi-2021", {{"weights", "examples"}}, {"delta", "m", "v"}, make<AdamServer>},
    {"sm3-ii", "client", "fedada2", {{"cover", "axes"}}, {"nu"}, make<Sm3>},
};

const Offer* offer_of(const Case& c) {
  for (auto& o : OFFERS) {
    bool same = o.algorithm == c.algorithm && o.level == c.level && o.reading == c.reading;
    for (auto& option : o.options) same = same && c.options.at(option.first) == option.second;
    if (same) return &o;
  }
  return nullptr;
}

// ---- cases and events, from JSON ------------------------------------------------------------------------------------

Case read_case(const Json& given) {
  Case c;
  c.algorithm = given.at("algorithm").text;
  c.level = given.at("level").text;
  c.reading = given.at("reading").text;
  for (auto& o : given.at("options").fields) c.options[o.first] = o.second.text;
  for (auto& h : given.at("hyper").fields) c.hyper[h.first] = h.second.number;
  for (auto& block : given.at("x0").fields) {
    Shape shape;
    for (const Json* a = &block.second; a->kind == Json::List; a = &a->list.at(0)) shape.push_back(a->list.size());
    c.names.push_back(block.first);
    c.shapes.push_back(shape);
    flatten(block.second, c.x0);
  }
  if (auto* problem = given.find("problem")) {
    for (auto& client : problem->at("H").list) {
      c.H.emplace_back();
      for (auto& row : client.list) c.H.back().push_back(numbers(row));
    }
    for (auto& client : problem->at("e").list) c.e.push_back(numbers(client));
    c.examples = numbers(problem->at("examples"));
  }
  return c;
}

Vec model(const Json& blocks, const Case& c) {
  Vec out;
  for (auto& name : c.names) flatten(blocks.at(name), out);
  return out;
}

Event read_event(const Json& given, const Case& c) {
  Event event;
  event.type = given.at("type").text;
  if (auto* g = given.find("g")) event.given = model(*g, c);
  if (auto* x = given.find("x")) event.given = model(*x, c);
  if (auto* messages = given.find("messages"))
    for (auto& m : messages->list)
      event.messages.push_back({model(m.at("delta"), c), m.at("weight").number, m.at("a_norm").number});
  if (auto* who = given.find("participants")) {
    for (double i : numbers(*who)) event.participants.push_back(static_cast<size_t>(i));
    event.steps = numbers(given.at("steps"));
  }
  return event;
}

// ---- judged over JSON lines -----------------------------------------------------------------------------------------

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) out += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return out + "\"";
}

std::string said(const std::map<std::string, std::string>& options) {
  std::string out;
  for (auto& o : options) out += (out.empty() ? "" : ",") + quoted(o.first) + ":" + quoted(o.second);
  return "{" + out + "}";
}

std::string info() {
  std::string offers;
  for (auto& o : OFFERS) {
    std::string shown;
    for (auto& name : o.shown) shown += (shown.empty() ? "" : ",") + quoted(name);
    offers += (offers.empty() ? "" : ",") + std::string("{\"algorithm\":") + quoted(o.algorithm) + ",\"level\":" +
              quoted(o.level) + ",\"reading\":" + quoted(o.reading) + ",\"options\":" + said(o.options) +
              ",\"intermediates\":[" + shown + "],\"dtypes\":[\"float64\"]}";
  }
  return "{\"name\":\"native.cpp\",\"version\":\"1.0\",\"claims\":[" + offers + "]}";
}

struct Running {
  Case given;
  std::unique_ptr<Session> session;
};

Running begun(const Json& given) {
  Case c = read_case(given);
  const Offer* offer = offer_of(c);
  if (!offer) throw std::runtime_error(c.algorithm + "/" + c.level + " is not claimed");
  return {c, offer->start(c)};
}

std::string reply(const Json& request, std::map<double, Running>& sessions) {
  std::string cmd = request.at("cmd").text;
  if (cmd == "hello") return ",\"info\":" + info();
  double number = request.at("session").number;
  if (cmd == "start") {
    sessions[number] = begun(request.at("case"));
  } else if (cmd == "step") {
    Running& running = sessions.at(number);
    Answer answer = running.session->step(read_event(request.at("event"), running.given));
    std::string out;
    for (auto& m : answer.models) out += (out.empty() ? "" : ",") + quoted(m.first) + ":" + written(m.second);
    for (auto& s : answer.scalars) out += "," + quoted(s.first) + ":" + written(s.second);
    return ",\"answer\":{" + out + "}";
  } else if (cmd == "stop") {
    sessions.erase(number);
  } else {
    throw std::runtime_error("unknown command " + cmd);
  }
  return "";
}

int serve() {
  std::map<double, Running> sessions;
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;
    try {
      std::cout << "{\"ok\":true" + reply(Reader(line).read(), sessions) + "}" << std::endl;
    } catch (const std::exception& error) {
      std::cout << "{\"ok\":false,\"error\":" + quoted(error.what()) + "}" << std::endl;
    }
  }
  return 0;
}

// ---- judged by the vectors alone: docs/vectors.md -------------------------------------------------------------------

// An integer, p/q or up to 25 digits.
double exact(const std::string& text) {
  size_t slash = text.find('/');
  if (slash == std::string::npos) return std::strtod(text.c_str(), nullptr);
  return std::strtod(text.substr(0, slash).c_str(), nullptr) / std::strtod(text.substr(slash + 1).c_str(), nullptr);
}

// Where an answer first deviates; empty where it does not.
std::string compared(const Answer& answer, const Json& want, const Json& scale, const Offer& offer) {
  const double eps = std::numeric_limits<double>::epsilon(), tiny = std::numeric_limits<double>::min();
  for (auto& wanted : want.fields) {
    const std::string& name = wanted.first;
    if (name != "x" && std::find(offer.shown.begin(), offer.shown.end(), name) == offer.shown.end()) continue;
    Vec got = answer.models.count(name) ? answer.models.at(name) : Vec{answer.scalars.at(name)};
    Vec bounds = numbers(scale.at(name));
    if (got.size() != wanted.second.list.size()) return name + " has another size";
    for (size_t j = 0; j < got.size(); j++) {
      double right = exact(wanted.second.list[j].text);
      if (!(std::abs(got[j] - right) <= 30 * (eps * bounds[j] + tiny)))
        return name + "[" + std::to_string(j) + "] is " + written(got[j]) + ", not " + written(right);
    }
  }
  return "";
}

int by_vectors(const char* path) {
  std::ifstream file(path);
  if (!file) return std::cerr << "cannot read " << path << std::endl, 2;
  int passed = 0, failed = 0;
  // A defect is named where its totals are ours in every failing vector of an offer, and no passing one shows it.
  std::map<const Offer*, std::map<std::string, int>> fits, shown_by_passing;
  std::map<const Offer*, int> failing;
  std::map<std::string, std::string> words;
  for (std::string line; std::getline(file, line);) {
    Json vector = Reader(line).read();
    Case c = read_case(vector.at("case"));
    const Offer* offer = offer_of(c);
    if (!offer) continue;
    std::string wrong;
    std::map<std::string, Vec> last;
    for (int again = 0; again < 2 && wrong.empty(); again++) {
      auto session = offer->start(c);
      auto& events = vector.at("events").list;
      for (size_t k = 0; k < events.size(); k++) {
        Answer answer = session->step(read_event(events[k], c));
        for (auto& m : answer.models) last[m.first] = m.second;
        for (auto& s : answer.scalars) last[s.first] = {s.second};
        std::string here = compared(answer, vector.at("want").list[k], vector.at("scale").list[k], *offer);
        if (wrong.empty() && !here.empty()) wrong = "event " + std::to_string(k + 1) + ": " + here;
      }
    }
    (wrong.empty() ? passed : failed)++;
    if (!wrong.empty()) failing[offer]++, std::cout << vector.at("id").text << ": " << wrong << "\n";
    for (auto& place : vector.at("kills").fields)
      for (auto& defect : place.second.fields) {
        double total = 0, told = defect.second.number;
        for (double v : last[place.first.substr(0, place.first.find(' '))]) total += v;
        if (wrong.empty()) shown_by_passing[offer][defect.first]++;
        if (defect.second.kind == Json::Number && std::abs(total - told) <= 1e-5 * std::abs(told))
          fits[offer][defect.first] += !wrong.empty();
      }
    for (auto& defect : vector.at("defects").fields) words[defect.first] = defect.second.text;
  }
  for (auto& [offer, count] : failing)
    for (auto& [name, times] : fits[offer])
      if (times == count && !shown_by_passing[offer].count(name))
        std::cout << offer->algorithm << "/" << offer->level << " is: " << words[name] << "\n";
  std::cout << passed << " of " << passed + failed << " vectors pass" << std::endl;
  return failed ? 1 : passed ? 0 : 3;
}

int main(int count, char** arguments) { return count > 1 ? by_vectors(arguments[1]) : serve(); }
