// The site of docs: built by VitePress, with a search of its own, nothing from elsewhere.
import { existsSync } from "node:fs";
import path from "node:path";

const docs = path.resolve(import.meta.dirname, "..");
const repository = "https://github.com/lifepod/lifepod/blob/main/";

const groups = (prefix, names) => [
  { text: names.guide, collapsed: false, items: names.pages.map(([file, text]) => ({ text, link: `${prefix}/guide/${file}` })) },
  { text: names.reference, items: names.others.filter(([file]) => existsSync(path.join(docs, prefix, file.replace(/index$/, "README") + ".md"))).map(([file, text]) => ({ text, link: `${prefix}/${file}` })) },
];

const guide = ["phases", "ready", "scheduled", "network", "images", "init", "hooks", "probes", "exits", "in-place", "end", "races"];
const pages = (titles) => guide.map((file, i) => [file, `${i + 1}. ${titles[i]}`]);

const english = groups("", {
  guide: "The life of a Pod",
  pages: pages(["Phases", "From creation to Ready", "Before there is a node", "Sandbox and network", "Volumes and images", "Init containers, sidecars", "Hooks", "Probes", "Exits", "Restart in place", "The end", "Why kubelets race"]),
  reference: "Reference",
  others: [["run", "run"], ["compare", "Coming from other tools"], ["commands", "The other terminal"], ["why", "why"], ["timeline", "timeline"], ["ui", "The page"], ["sim", "sim"], ["restarts", "Restarts"],
    ["groups", "Groups"], ["up", "up"], ["agent", "agent"], ["services", "Services"], ["volumes", "Volumes"], ["grow", "Further machines"], ["security", "Security"],
    ["performance", "How fast"], ["proof", "Proofs"], ["conformance", "Conformance"], ["contract/index", "The contract"], ["architecture", "Architecture"]],
});
const chinese = groups("/zh", {
  guide: "Pod 的一生",
  pages: pages(["阶段", "从创建到就绪", "有节点之前", "沙箱与网络", "卷与镜像", "Init 容器与边车容器", "回调", "探针", "退出", "就地重启", "终止", "kubelet 的竞态"]),
  reference: "参考",
  others: [["run", "run"], ["why", "why"], ["timeline", "timeline"], ["restarts", "重启"], ["groups", "组"], ["up", "up"], ["contract/words", "词语"], ["glossary", "术语表"]],
});

// outside makes links to files that are no pages lead to the repository.
const outside = (md) => {
  md.core.ruler.push("outside", ({ tokens, env }) => {
    for (const { children } of tokens) {
      for (const token of children ?? []) {
        const href = token.type === "link_open" && token.attrGet("href");
        if (!href || /^(\w+:|#)/.test(href)) continue;
        const [file] = href.split("#");
        const target = path.resolve(path.dirname(env.path ?? docs), file);
        const page = target.startsWith(docs + path.sep) && target.endsWith(".md");
        if (page) { // VitePress looks whether it is there, but does not link to what it is rewritten to
          token.attrSet("href", href.replace(/README\.md(?=#|$)/, "index.md"));
          continue;
        }
        const there = path.relative(path.dirname(docs), target);
        if (!existsSync(path.resolve(docs, "../../..", there))) throw new Error(`${env.relativePath}: no file ${href}`);
        token.attrSet("href", repository + there);
      }
    }
  });
};

// verbatim keeps {{braces}} in code from being taken for expressions.
const verbatim = (md) => {
  md.renderer.rules.code_inline = (tokens, i) => `<code v-pre>${md.utils.escapeHtml(tokens[i].content)}</code>`;
};

export default {
  title: "lifepod",
  cleanUrls: false,
  rewrites: { "guide/README.md": "guide/index.md", "zh/README.md": "zh/index.md", "zh/guide/README.md": "zh/guide/index.md", "contract/README.md": "contract/index.md" },
  markdown: { config: (md) => (outside(md), verbatim(md)), html: false },
  themeConfig: { search: { provider: "local" }, outline: { level: [2, 3] }, i18nRouting: false },
  locales: {
    root: { label: "English", lang: "en", themeConfig: { sidebar: english } },
    zh: { label: "中文", lang: "zh-CN", link: "/zh/", themeConfig: { sidebar: chinese } },
  },
};
