"""What the site itself says, in each of its languages."""

from __future__ import annotations

from typing import Literal

Language = Literal["en", "zh"]

LANGUAGES: tuple[Language, ...] = ("en", "zh")
OTHER: dict[Language, Language] = {"en": "zh", "zh": "en"}

WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "name": "English",
        "read": "Read",
        "look": "Look and try",
        "look up": "Look up",
        "work": "Working on it",
        "measured": "Measured",
        "traces": "Traces",
        "traces intro": "Each scene is a run of the server, played message by message. The page of a trace is"
        " one file: step with ← and →, jump to the next fault with `g`; `?` shows all keys. The choice at its"
        " top right switches between the server as it is and the server with faults.",
        "scenes of": "Scenes of chapter {chapter}",
        "scene": "Scene",
        "what": "What it shows",
        "played": "Played",
        "as it is": "as it is",
        "with reference": "with the gaps of the reference",
        "with": "with {gaps}",
        "open trace": "Open this trace on a page of its own",
        "from step": "Step {step} of this run in its trace",
        "trace of": "Trace of {scene}",
        "gaps": "Gaps",
        "gaps intro": "Faults that this server does not have, and that can be switched on one by one. Each is"
        " a small class over the right one; the auditor, or whoever else is named, finds it.",
        "claims": "Claims",
        "code": "Code",
        "found by": "Found by",
        "see": "See it",
        "exercises of": "Exercises of chapter {chapter}",
        "exercises intro": "Each has a starter, which runs and is wrong, and a check that plays it on the"
        " real server.",
        "exercise": "Exercise",
        "belongs to": "Where it belongs",
        "commands": "Commands",
        "start": "puts the starter there",
        "check": "judges your version",
        "watch": "judges it whenever you save",
        "hint": "gives the next of three hints",
        "diff": "shows what you have changed",
        "solution": "shows an answer, once you have passed",
        "reference": "Reference",
        "reference intro": "What to look up.",
        "as file": "Excerpts of what is found are shown when a server gives these pages, as by"
        " python -m http.server; in files that the browser opens itself, one page may not read another.",
        "not installed": "{names}: not installed here; .venv/bin/pip install -c constraints.txt -e '.[docs]'"
        " brings what the site needs",
        "not a site": "{folder} has something else in it than a site; name another folder, or empty it",
        "built": "{file}: open it in a browser ({size:.1f} MB, needs no network)",
    },
    "zh": {
        "name": "中文",
        "read": "阅读",
        "look": "观察与动手",
        "look up": "查阅",
        "work": "参与开发",
        "measured": "测量结果",
        "traces": "回放",
        "traces intro": "每个场景都是服务器的一次真实运行，逐条消息地回放。一份回放就是一个网页：用 ← 和 → "
        "前后移动，`g` 跳到下一处缺陷，`?` 列出全部按键。右上角可以切换："
        "服务器本来的样子，或打开了缺陷的样子。",
        "scenes of": "第 {chapter} 章的场景",
        "scene": "场景",
        "what": "内容",
        "played": "怎样回放",
        "as it is": "服务器本来的样子",
        "with reference": "打开参考实现的缺陷",
        "with": "打开 {gaps}",
        "open trace": "在单独的页面里打开这份回放",
        "from step": "在回放里看这次运行的第 {step} 步",
        "trace of": "{scene} 的回放",
        "gaps": "缺陷",
        "gaps intro": "这个服务器没有、但可以逐个打开的缺陷。每个缺陷都是套在正确的类上的一个小类，打开之后，"
        "审计器或下面列出的检查会发现它。",
        "claims": "论断",
        "code": "代码",
        "found by": "由谁发现",
        "see": "看一看",
        "exercises of": "第 {chapter} 章的练习",
        "exercises intro": "每道题都有一份起始代码，它能运行，但是有错；检查会在真正的服务器上运行你的版本。",
        "exercise": "练习",
        "belongs to": "对应的正文",
        "commands": "命令",
        "start": "生成起始代码",
        "check": "评判你的版本",
        "watch": "每次保存都评判一次",
        "hint": "给出下一条提示，共三条",
        "diff": "显示你改了什么",
        "solution": "通过之后，显示一种答案",
        "reference": "参考资料",
        "reference intro": "这些文档目前只有英文版。",
        "as file": "由服务器（例如 python -m http.server）提供这些页面时，搜索结果会附上摘录；"
        "直接用浏览器打开文件时，页面之间不能互相读取，所以没有摘录。",
        "not installed": "没有安装 {names}；运行 .venv/bin/pip install -c constraints.txt -e '.[docs]' "
        "即可装上",
        "not a site": "{folder} 里有网站以外的东西；请换一个文件夹，或者先清空它",
        "built": "{file}：用浏览器打开（{size:.1f} MB，不需要网络）",
    },
}

DOCUMENTS_IN_CHINESE = {
    "cases": "同类服务器上报告过的问题，在这里各是怎样的",
    "claims": "正文的每一条论断，由什么证明",
    "exercise-matrix": "练习的每一份答案和每一种错误改法得到的结果",
    "exercise-session": "三道练习，从开始到通过",
    "exercise-trials": "练习的试做记录",
    "openai-fields": "OpenAI 接口的每个字段在这里怎样处理",
    "operations": "为别人运行这个服务器：限制、健康检查、指标、密钥",
    "recording-format": "录制文件的格式",
    "stepping": "在终端里逐步查看一次运行",
    "trace-page": "在浏览器里查看一次运行",
    "writing-exercises": "怎样编写练习",
}
"""What the documents that there are in English alone are about."""
