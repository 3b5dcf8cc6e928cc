// The alignment view: a token under the pointer, in focus or tapped lights up, and all that is known of it is told.
(() => {
  const alignments = JSON.parse(document.getElementById("alignment-data").textContent);
  const pairs = [...document.querySelectorAll(".pair")];
  const chooser = document.getElementById("sentence");
  const names = { align: "align", skip_target: "skip target", skip_prediction: "skip prediction" };
  const shown = (token) => (token === "<blank>" ? "ε" : token);
  const money = (cost) => (cost === null ? "∞" : Math.max(0, cost).toFixed(2));

  const element = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const bars = (prediction, paid) => {
    const list = element("ol", "", "bars");
    for (const [token, probability] of prediction.top) {
      const row = element("li", "", paid.includes(token) ? "paid" : "");
      const bar = element("i");
      bar.style.width = `${100 * probability}%`;
      row.append(element("span", shown(token)), element("span", probability.toFixed(2), "share"), bar);
      list.append(row);
    }
    return list;
  };

  const sentence = (parts) => {
    const line = element("p");
    line.append(...parts);
    return line;
  };

  const tell = (pair, alignment, targets, at, heading) => {
    const prediction = alignment.predictions[at];
    const told = pair.querySelector(".told");
    const lines = targets.map((i) => sentence([
      element("strong", shown(alignment.targets[i])), ": ",
      element("span", names[alignment.operators[i]], `operator ${alignment.operators[i]}`),
      ` at prediction ${at + 1}, cost ${money(alignment.target_costs[i])}`
        + (alignment.operators[i] === "skip_target" ? ` with δ = ${alignment.skip_target_penalty}` : ""),
    ]));
    if (prediction.skipped) {
      lines.push(sentence([
        `Prediction ${at + 1} is skipped: `, element("span", names.skip_prediction, "operator"),
        `, the cost of its blank ε is ${money(prediction.blank_cost)}`,
      ]));
    }
    const paid = targets.map((i) => alignment.targets[i]).concat(prediction.skipped ? ["<blank>"] : []);
    const blank = element("p", `Blank ε here would cost ${money(prediction.blank_cost)}.`, "soft");
    told.replaceChildren(
      element("h4", heading), ...lines,
      element("p", `Likeliest at prediction ${at + 1}`, "soft"), bars(prediction, paid),
      ...(prediction.skipped ? [] : [blank]),
    );
  };

  const look = (pair, button) => {
    const alignment = alignments[pairs.indexOf(pair)];
    const isTarget = "target" in button.dataset;
    const place = Number(isTarget ? button.dataset.target : button.dataset.prediction);
    const at = isTarget ? alignment.prediction_of_target[place] : place;
    const all = alignment.prediction_of_target.map((_, i) => i).filter((i) => alignment.prediction_of_target[i] === at);
    const targets = isTarget ? [place] : all;
    pair.classList.add("looking");
    for (const lit of pair.querySelectorAll(".lit")) lit.classList.remove("lit");
    for (const other of pair.querySelectorAll("[aria-pressed=true]")) other.setAttribute("aria-pressed", "false");
    button.setAttribute("aria-pressed", "true");
    pair.querySelector(`[data-prediction="${at}"]`).classList.add("lit");
    for (const i of targets) {
      pair.querySelector(`[data-target="${i}"]`).classList.add("lit");
      pair.querySelectorAll(".links path")[i].classList.add("lit");
    }
    const heading = isTarget ? `Target ${place + 1}: ${shown(alignment.targets[place])}` : `Prediction ${place + 1}`;
    tell(pair, alignment, targets, at, heading);
  };

  const step = (event, button) => {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (!(event.key in steps)) return;
    event.preventDefault();
    const column = [...button.closest("ol").querySelectorAll("button")];
    const next = column[column.indexOf(button) + steps[event.key]];
    if (next) next.focus();
  };

  const choose = (number) => pairs.forEach((pair, place) => { pair.hidden = place !== number; });

  for (const pair of pairs) {
    for (const button of pair.querySelectorAll("button")) {
      for (const kind of ["mouseenter", "focus", "click"]) button.addEventListener(kind, () => look(pair, button));
      button.addEventListener("keydown", (event) => step(event, button));
    }
    look(pair, pair.querySelector(".skip_target[data-target]") || pair.querySelector("[data-target]"));
  }
  chooser.addEventListener("change", () => choose(chooser.selectedIndex));
  choose(chooser.selectedIndex);
})();
